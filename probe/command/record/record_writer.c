// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/record/record_writer.h"

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
static void report_few(const struct render *render, const struct profile_meta *meta)
{
	if (!render->total && meta->by_period)
		fprintf(stderr, " (who waits or sleeps isn't sampled: -e offcpu shows it)");
	else if (render->total && !meta->event_name && !meta->by_bytes &&
		 render->total < FEW_SAMPLES)
		fprintf(stderr, " (few samples: a share may be off by %.0f percentage points)",
			ceil(FEW_ERROR / sqrt((double)meta->samples)));
}

/* Says what is known of all stacks together. */
static void report_whole(const struct record_writer *writer, const struct render *render,
			 const struct profile_meta *meta)
{
	if (meta->truncated)
		report_causes(writer);
	if (meta->samples < meta->events)
		fprintf(stderr, ", %s %" PRIu64 " sample%s",
			meta->by_bytes && !meta->left_out ? "from" : "thinned by the guard to",
			meta->samples, meta->samples == 1 ? "" : "s");
	report_few(render, meta);
}

static void report_written(const struct record_writer *writer, const struct render *render,
			   const struct profile_meta *meta)
{
	bool chooses = stack_choice_chooses(&writer->options->stacks);

	if (writer->options->quiet)
		return;
	if (writer->options->writes_file)
		fprintf(stderr, "stackprobe: wrote %s: ", path_of(writer));
	else
		fprintf(stderr, "stackprobe: %s: ", kind_get(writer->probe)->name);
	if (render->total)
		fprintf(stderr, "%" PRIu64 " %s of %u process%s", render->total, meta->count_name,
			meta->processes, meta->processes == 1 ? "" : "es");
	else
		fprintf(stderr, "an empty profile, no %s", meta->count_name);
	if (chooses)
		fputs(" in the chosen stacks", stderr);
	if (meta->event_name)
		fprintf(stderr, ", %" PRIu64 " %s,", meta->events, meta->event_name);
	fprintf(stderr, " in %.2f s, %" PRIu64 " lost, %" PRIu64 "%s%s truncated",
		(double)writer->took_ns / (double)NS_PER_S, meta->lost, meta->truncated,
		meta->event_name ? " " : "", meta->event_name ? meta->count_name : "");
	if (!chooses)
		report_whole(writer, render, meta);
	else if (meta->left_out)
		fputs(", thinned by the guard", stderr);
	if (writer->peak)
		fprintf(stderr, ", at its peak after %.0f s",
			(double)writer->peak->most_ns / (double)NS_PER_S);
	fputc('\n', stderr);
}

static void write_next(struct record_writer *writer);

/* Returns whether folded text is made beside the file's output. */
static bool wants_text(const struct record_options *options)
{
	return options->top || options->before;
}

static int use_rendered(struct record_writer *writer, struct render *render)
{
	const struct record_options *options = writer->options;
	struct buf *content = &render->content[0];
	const struct profile_meta *meta = &render->meta;
	int r = 0;

	if (options->before) {
		content->len = 0;
		r = record_text_compare(options, meta, &render->content[1], content);
	}
	if (r == 0 && options->writes_file)
		r = record_file_write(&writer->files[writer->probe], content->data, content->len);
	if (r < 0)
		return r;
	report_written(writer, render, meta);
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
		.header = writer->options->header || writer->options->before,
		.choice = writer->options->stacks,
		.done = profile_rendered,
		.arg = writer,
	};
	int r = render_submit(writer->core->bulk, &question);

	if (r < 0) {
		writer_fail(writer, r);
		writer->done(writer->arg);
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
		writer->done(writer->arg);
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
		writer->done(writer->arg);
	}
}

static void write_next(struct record_writer *writer)
{
	while (writer->probe < PROBE_COUNT && !(writer->options->probes & 1u << writer->probe))
		writer->probe++;
	if (writer->probe == PROBE_COUNT) {
		writer->done(writer->arg);
		return;
	}
	if (view_is_held(record_view_of(writer->options, writer->probe)))
		read_held(writer);
	else
		submit_render(writer, subscriber_profile(writer->subscriber, writer->probe));
}

static void window_drained(void *arg)
{
	write_next(arg);
}

void record_writer_start(struct record_writer *writer)
{
	writer->probe = 0;
	engine_drain(writer->core->engine, window_drained, writer);
}
