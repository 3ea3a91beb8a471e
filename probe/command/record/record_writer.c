// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/record/record_writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "profile/render.h"
#include "kind/kind.h"
#include "kind/loss_names.h"

static const char *path_of(const struct record_writer *writer)
{
	const char *path = writer->files[writer->probe].path;

	return strcmp(path, "-") == 0 ? "standard output" : path;
}

static void writer_fail(struct record_writer *writer, int error)
{
	fprintf(stderr, "stackprobe: %s can't be written: %s\n", path_of(writer), strerror(-error));
	writer->failed = true;
}

/* Says why stacks are cut. (A view of what is held has others' stacks than the recording.) */
static void report_causes(const struct record_writer *writer)
{
	_cleanup_free_ struct engine_stats *stats = calloc(1, sizeof(*stats));
	const char *before = " (";

	if (!stats || writer->options->view != VIEW_ALL)
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

static void report_written(const struct record_writer *writer, const struct render *render)
{
	struct profile_meta meta;

	if (writer->options->quiet)
		return;
	profile_describe(render->profile, TREE_ROOT, writer->core->host, &meta);
	fprintf(stderr, "stackprobe: wrote %s: ", path_of(writer));
	if (render->total)
		fprintf(stderr, "%" PRIu64 " %s of %u process%s", render->total, meta.count_name,
			meta.processes, meta.processes == 1 ? "" : "es");
	else
		fprintf(stderr, "an empty profile, no %s", meta.count_name);
	if (meta.event_name)
		fprintf(stderr, ", %" PRIu64 " %s,", meta.events, meta.event_name);
	fprintf(stderr, " in %.2f s, %" PRIu64 " lost, %" PRIu64 "%s%s truncated",
		(double)writer->took_ns / (double)NS_PER_S, meta.lost, meta.truncated,
		meta.event_name ? " " : "", meta.event_name ? meta.count_name : "");
	if (meta.truncated)
		report_causes(writer);
	if (meta.samples < meta.events)
		fprintf(stderr, ", %s %" PRIu64 " stacks",
			meta.by_bytes && !meta.left_out ? "from" : "thinned by the guard to",
			meta.samples);
	fputc('\n', stderr);
}

static void write_next(struct record_writer *writer);

static void profile_rendered(void *arg, struct render *render)
{
	struct record_writer *writer = arg;
	const struct buf *content = &render->content[0];
	int r = render->error;

	if (r == 0)
		r = record_file_write(&writer->files[writer->probe], content->data, content->len);
	if (r < 0)
		writer_fail(writer, r);
	else
		report_written(writer, render);
	writer->probe++;
	write_next(writer);
}

static void submit_render(struct record_writer *writer, struct profile *profile)
{
	struct render question = {
		.profile = profile,
		.node = TREE_ROOT,
		.host = writer->core->host,
		.lines = engine_lines(writer->core->engine),
		.outputs = {writer->options->output},
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

	if (error < 0) {
		writer_fail(writer, error);
		writer->done(writer->arg);
		return;
	}
	submit_render(writer, profiles[writer->options->view]);
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
	if (kind_get(writer->probe)->holds && writer->options->view != VIEW_ALL)
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
