// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/record/record_writer.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "command/record/record_text.h"
#include "command/record/record_view.h"
#include "profile/render.h"
#include "kind/kind.h"
#include "kind/loss_names.h"

/* Shares of fewer samples are said to be uncertain: the half width of the interval that has a share
 * of 50 % with a probability of 95 %, in percentage points of one sample. */
#define FEW_SAMPLES 400
#define FEW_ERROR   98.0

static const char *path_of(const struct record_writer *writer)
{
	const char *path = writer->files[writer->probe].path;

	return strcmp(path, "-") == 0 ? "standard output" : path;
}

static void writer_fail(struct record_writer *writer, int error)
{
	progress_erase(writer->progress);
	fprintf(stderr, "stackprobe: %s can't be written: %s\n",
		writer->options->writes_file ? path_of(writer) : "the profile", strerror(-error));
	writer->failed = true;
}

/* Says why stacks are cut. (A view of what is held has others' stacks than the recording.) */
static void report_causes(const struct record_writer *writer)
{
	_cleanup_free_ struct engine_stats *stats = calloc(1, sizeof(*stats));
	const char *before = " (";

	if (!stats || record_view_of(writer->options, writer->probe) != VIEW_ALL)
		return;
	engine_stats(writer->core->engine, stats);
	for (int i = TRUNCATED_NOT + 1; i < TRUNCATED_COUNT; i++) {
		uint64_t events = stats->drain.truncated[writer->probe][i];

		if (!events)
			continue;
		fprintf(stderr, "%s%s %" PRIu64, before, truncation_name(i), events);
		before = ", ";
	}
	if (before[0] == ',')
		fputc(')', stderr);
}

/* Says how far the shares of few counted samples may be off, and what may have been meant where
 * there are none. */
static void report_few(uint64_t total, const struct profile_meta *meta)
{
	if (!total && meta->by_period)
		fprintf(stderr, " (who waits or sleeps isn't sampled: -e offcpu shows it)");
	else if (total && !meta->event_name && !meta->by_bytes && total < FEW_SAMPLES)
		fprintf(stderr, " (few samples: a share may be off by %.0f percentage points)",
			ceil(FEW_ERROR / sqrt((double)meta->samples)));
}

/* Says what is known of all stacks together. */
static void report_whole(const struct record_writer *writer, uint64_t total,
			 const struct profile_meta *meta)
{
	if (meta->truncated)
		report_causes(writer);
	if (meta->samples < meta->events)
		fprintf(stderr, ", %s %" PRIu64 " sample%s",
			meta->by_bytes && !meta->left_out ? "from" : "thinned by the guard to",
			meta->samples, meta->samples == 1 ? "" : "s");
	report_few(total, meta);
}

/* Says of what the file is. */
static void report_total(const struct record_writer *writer, uint64_t total,
			 const struct profile_meta *meta)
{
	unsigned blocks = writer->blocks[writer->probe].count;

	if (writer->options->every_ns)
		fprintf(stderr, "%u block%s, ", blocks, blocks == 1 ? "" : "s");
	if (total)
		fprintf(stderr, "%" PRIu64 " %s", total, meta->count_name);
	else
		fprintf(stderr, "%sno %s", writer->options->every_ns ? "" : "an empty profile, ",
			meta->count_name);
	if (total && meta->processes)
		fprintf(stderr, " of %u process%s", meta->processes,
			meta->processes == 1 ? "" : "es");
}

static void report_written(const struct record_writer *writer, uint64_t total,
			   const struct profile_meta *meta)
{
	unsigned missed = writer->blocks[writer->probe].missed;
	bool chooses = stack_choice_chooses(&writer->options->stacks);

	if (writer->options->quiet)
		return;
	if (writer->options->writes_file)
		fprintf(stderr, "stackprobe: wrote %s: ", path_of(writer));
	else
		fprintf(stderr, "stackprobe: %s: ", kind_get(writer->probe)->name);
	report_total(writer, total, meta);
	if (chooses)
		fputs(" in the chosen stacks", stderr);
	if (meta->event_name)
		fprintf(stderr, ", %" PRIu64 " %s,", meta->events, meta->event_name);
	fprintf(stderr, " in %.2f s, %" PRIu64 " lost, %" PRIu64 "%s%s truncated",
		(double)writer->took_ns / (double)NS_PER_S, meta->lost, meta->truncated,
		meta->event_name ? " " : "", meta->event_name ? meta->count_name : "");
	if (!chooses)
		report_whole(writer, total, meta);
	else if (meta->left_out)
		fputs(", thinned by the guard", stderr);
	if (missed)
		fprintf(stderr, ", %u block%s missing, not read in time", missed,
			missed == 1 ? " is" : "s are");
	if (writer->peak)
		fprintf(stderr, ", at its peak after %.0f s",
			(double)writer->peak->most_ns / (double)NS_PER_S);
	fputc('\n', stderr);
}

static void write_next(struct record_writer *writer);
static void pass_ended(struct record_writer *writer);

/* Returns whether folded text is made beside the file's output. */
static bool wants_text(const struct record_options *options)
{
	return options->top || options->before;
}

static int use_block(struct record_writer *writer, const struct render *render)
{
	struct record_blocks *blocks = &writer->blocks[writer->probe];

	if (!blocks->file)
		record_blocks_begin(blocks, &writer->files[writer->probe], writer->options->output,
				    writer->core->loop);
	int r = record_blocks_add(blocks, render, writer->is_last);
	if (r == 0 && writer->is_last)
		report_written(writer, blocks->total, &blocks->told);
	return r;
}

static int use_rendered(struct record_writer *writer, struct render *render)
{
	const struct record_options *options = writer->options;
	struct buf *content = &render->content[0];
	const struct profile_meta *meta = &render->meta;
	int r = 0;

	if (options->every_ns)
		return use_block(writer, render);
	if (options->before) {
		content->len = 0;
		r = record_text_compare(options, meta, &render->content[1], content);
	}
	if (r == 0 && options->writes_file)
		r = record_file_write(&writer->files[writer->probe], content->data, content->len);
	if (r < 0)
		return r;
	report_written(writer, render->total, meta);
	return options->top ? record_text_top(options, meta, &render->content[1]) : 0;
}

static void profile_rendered(void *arg, struct render *render)
{
	struct record_writer *writer = arg;
	int r = render->error ? render->error : use_rendered(writer, render);

	if (r < 0)
		writer_fail(writer, r);
	writer->probe++;
	write_next(writer);
}

static void submit_render(struct record_writer *writer, struct profile *profile)
{
	struct render question = {
		.profile = profile,
		.second = record_view_of(writer->options, writer->probe) == VIEW_SECOND,
		.node = TREE_ROOT,
		.host = writer->core->host,
		.lines = engine_lines(writer->core->engine),
		.outputs = {writer->options->output,
			    wants_text(writer->options) ? output_find("folded") : NULL},
		.icicle = writer->options->spec.params.icicle,
		.header = writer->options->header || writer->options->before ||
			  writer->options->every_ns,
		.choice = writer->options->stacks,
		.done = profile_rendered,
		.arg = writer,
	};
	int r = render_submit(writer->core->bulk, &question);

	if (r < 0) {
		writer_fail(writer, r);
		pass_ended(writer);
	}
}

static void held_read(void *arg, int error, struct profile *profiles[VIEWS])
{
	struct record_writer *writer = arg;

	if (error < 0 && writer->peak && writer->peak->most) {
		fprintf(stderr, "stackprobe: what is held at the end can't be read: %s\n",
			strerror(-error));
		submit_render(writer, writer->peak->most);
		return;
	}
	if (error < 0) {
		writer_fail(writer, error);
		pass_ended(writer);
		return;
	}
	struct profile *profile = profiles[writer->options->view];

	if (writer->peak) {
		peak_compare(writer->peak, profile);
		profile = writer->peak->most;
	}
	submit_render(writer, profile);
}

static void read_held(struct record_writer *writer)
{
	struct live_heap_request request = {
		.views = 1u << writer->options->view,
		.filter = {.before_ns = UINT64_MAX},
		.done = held_read,
		.arg = writer,
	};
	int r = engine_read_held(writer->core->engine, writer->subscriber, &request);

	if (r < 0) {
		writer_fail(writer, r);
		pass_ended(writer);
	}
}

/* Writes the interval that has ended; the next one begins where this one ends. */
static void write_interval(struct record_writer *writer)
{
	_cleanup_profile_ struct profile *profile =
		subscriber_take_profile(writer->subscriber, writer->probe);

	if (profile) {
		submit_render(writer, profile);
		return;
	}
	writer_fail(writer, -ENOMEM);
	pass_ended(writer);
}

static void write_next(struct record_writer *writer)
{
	while (writer->probe < PROBE_COUNT && !(writer->options->probes & 1u << writer->probe))
		writer->probe++;
	if (writer->probe == PROBE_COUNT) {
		pass_ended(writer);
		return;
	}
	if (view_is_held(record_view_of(writer->options, writer->probe)))
		read_held(writer);
	else if (writer->options->every_ns)
		write_interval(writer);
	else
		submit_render(writer, subscriber_profile(writer->subscriber, writer->probe));
}

static void window_drained(void *arg)
{
	write_next(arg);
}

/* Writes what there is of each probe. */
static void begin_pass(void *arg)
{
	struct record_writer *writer = arg;

	writer->is_writing = true;
	writer->is_last = writer->ends;
	writer->probe = 0;
	engine_drain(writer->core->engine, window_drained, writer);
}

/* Waits for the end of the interval. What ends with the duration is the last one. */
static void wait_for_interval(struct record_writer *writer)
{
	const struct record_options *options = writer->options;
	uint64_t over = loop_now_ns() - writer->due_ns;

	writer->due_ns += (over / options->every_ns + 1) * options->every_ns;
	if (!options->duration_ns || writer->due_ns < writer->began_ns + options->duration_ns)
		loop_timer_set(writer->core->loop, &writer->interval, writer->due_ns);
}

/* Called when all is written, or can't be. */
static void pass_ended(struct record_writer *writer)
{
	writer->is_writing = false;
	if (writer->failed || writer->is_last)
		writer->done(writer->arg);
	else if (writer->ends)
		begin_pass(writer);
	else
		wait_for_interval(writer);
}

void record_writer_repeat(struct record_writer *writer)
{
	writer->due_ns = writer->began_ns;
	writer->interval =
		(struct loop_timer){.expired = begin_pass, .arg = writer, .name = "record"};
	wait_for_interval(writer);
}

void record_writer_start(struct record_writer *writer)
{
	writer->ends = true;
	loop_timer_cancel(writer->core->loop, &writer->interval);
	if (!writer->is_writing)
		begin_pass(writer);
}

void record_writer_done(struct record_writer *writer)
{
	for (int i = 0; i < PROBE_COUNT; i++)
		record_blocks_done(&writer->blocks[i]);
}
