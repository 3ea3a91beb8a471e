// SPDX-License-Identifier: GPL-2.0-or-later
/* Writes a pprof's head and its samples. pprof_table.c writes the tables that samples refer to. */
#include "output/format/pprof_shape.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "container/container.h"
#include "output/pprof/pprof_writer.h"
#include "output/pprof/protobuf.h"

enum {
	VALUE_TYPE = 1,
	VALUE_UNIT = 2,
	SAMPLE_LOCATION = 1,
	SAMPLE_VALUE = 2,
	SAMPLE_LABEL = 3,
	LABEL_KEY = 1,
	LABEL_STRING = 2,
};

/* The frames of one sample, leaf first. */
struct sample_path {
	uint32_t *frames;
	size_t count, capacity;
	size_t heads;	    /* the last frames: pod, container, process, thread */
	uint32_t head_node; /* node of the innermost of these */
};

struct samples {
	struct pprof_writer writer;
	const struct pprof_limits *limits;
	struct sample_path path;
	struct buf locations, labels; /* of one sample */
	uint32_t labelled;	      /* the head_node that `labels` belong to; TREE_ROOT: none */
	size_t count;
};

static void samples_done(struct samples *samples)
{
	pprof_writer_done(&samples->writer);
	free(samples->path.frames);
	buf_done(&samples->locations);
	buf_done(&samples->labels);
}

/* ---- labels ---- */

static bool is_label(const struct samples *samples, enum frame_type type)
{
	switch (samples->writer.meta->pprof_labels) {
	case PPROF_LABELS_ALL:
		return frame_type_is_head(type);
	case PPROF_LABELS_PROCESS:
		return frame_type_is_head(type) && type != FRAME_TYPE_THREAD;
	default:
		return false;
	}
}

/* Adds a label, unless its value is empty: Pyroscope refuses such labels. */
static void add_label(struct samples *samples, const char *key, const char *value, size_t len)
{
	struct pprof_writer *writer = &samples->writer;

	if (!len)
		return;
	uint32_t name = pprof_text(writer, key), text = pprof_string(writer, value, len);

	writer->inner.len = 0;
	protobuf_number(&writer->inner, LABEL_KEY, name);
	protobuf_number(&writer->inner, LABEL_STRING, text);
	protobuf_bytes(&samples->labels, SAMPLE_LABEL, writer->inner.data, writer->inner.len);
}

static void add_text(struct samples *samples, const char *key, const char *value)
{
	add_label(samples, key, value, value ? strlen(value) : 0);
}

static void add_container(struct samples *samples, const struct owner *owner)
{
	const struct container *container = owner->container;
	char text[CONTAINER_NAME_MAX];

	if (owner->ns_pid > 0 && owner->ns_pid != owner->pid) {
		snprintf(text, sizeof(text), "%d", (int)owner->ns_pid);
		add_text(samples, "container_pid", text);
	}
	if (!container)
		return;
	add_text(samples, "container", container_label(container, text, sizeof(text)));
	add_text(samples, "pod", container_pod_label(container, text, sizeof(text)));
	add_text(samples, "namespace", container->pod_namespace);
}

/* Adds the labels of a thread's frame, or of a process's frame `[pid]comm` and its container. */
static void add_labels_of(struct samples *samples, const struct frame *frame)
{
	const char *end = memchr(frame->name, ']', frame->name_len);

	if (frame->type == FRAME_TYPE_THREAD) {
		add_label(samples, "thread", frame->name, frame->name_len);
	} else if (frame->type == FRAME_TYPE_PROCESS && end) {
		size_t before = (size_t)(end - frame->name) + 1;

		add_label(samples, "pid", frame->name + 1, before - 2);
		add_label(samples, "comm", end + 1, frame->name_len - before);
		if (frame->owner)
			add_container(samples, frame->owner);
	}
}

/* Makes the labels of a sample. The labels of the last sample stay if it had the same head, as most
 * neighbours in the tree do. */
static void make_labels(struct samples *samples)
{
	const struct sample_path *path = &samples->path;

	if (path->heads && path->head_node == samples->labelled)
		return;
	samples->labels.len = 0;
	samples->labelled = path->heads ? path->head_node : TREE_ROOT;
	for (size_t i = path->count - path->heads; i < path->count; i++) {
		struct frame frame = tree_frame_at(samples->writer.tree, path->frames[i]);

		if (is_label(samples, frame.type))
			add_labels_of(samples, &frame);
	}
}

/* ---- locations ---- */

static int gather_path(struct samples *samples, uint32_t node)
{
	const struct tree *tree = samples->writer.tree;
	struct sample_path *path = &samples->path;

	path->count = path->heads = 0;
	while (node != TREE_ROOT) {
		struct tree_node at = tree_node_of(tree, node);

		if (array_grow(path->frames, path->capacity, path->count + 1, 256) < 0)
			return -ENOMEM;
		path->frames[path->count++] = at.frame;
		if (frame_type_is_head(tree_frame_at(tree, at.frame).type) && !path->heads++)
			path->head_node = node;
		node = at.parent;
	}
	return 0;
}

static bool is_shown(const struct samples *samples, size_t at)
{
	const struct sample_path *path = &samples->path;

	return at < path->count - path->heads ||
	       !is_label(samples, tree_frame_at(samples->writer.tree, path->frames[at]).type);
}

/* Returns how many frames are shown, counted from the leaf, heads not among them. */
static size_t leaves_shown(const struct samples *samples)
{
	const struct sample_path *path = &samples->path;
	size_t own = path->count - path->heads, heads = 0, depth = samples->limits->depth;

	for (size_t i = own; i < path->count; i++)
		heads += is_shown(samples, i);
	return !depth || own + heads <= depth ? own : depth - heads - 1;
}

static void make_locations(struct samples *samples)
{
	struct pprof_writer *writer = &samples->writer;
	const struct sample_path *path = &samples->path;
	size_t own = path->count - path->heads, leaves = leaves_shown(samples);
	struct buf *out = &samples->locations;

	out->len = 0;
	for (size_t i = 0; i < leaves; i++)
		protobuf_varint(out, pprof_location(writer, path->frames[i]));
	if (leaves < own)
		protobuf_varint(out, pprof_location_more(writer, LOCATION_TRUNCATED));
	for (size_t i = own; i < path->count; i++) {
		if (is_shown(samples, i))
			protobuf_varint(out, pprof_location(writer, path->frames[i]));
	}
	if (!out->len)
		protobuf_varint(out, pprof_location_more(writer, LOCATION_UNKNOWN));
}

/* ---- values ---- */

static uint64_t value_of(const struct pprof_writer *writer, const struct pprof_value *value,
			 const struct tree_node *node)
{
	uint64_t factor = value->factor ? value->factor : 1;

	switch (value->of) {
	case PPROF_EVENTS:
		return node->events * factor;
	case PPROF_PERIODS:
		return node->weight * writer->meta->period_ns;
	default:
		return node->weight * factor;
	}
}

static void put_values(struct pprof_writer *writer, const struct tree_node *node)
{
	const struct pprof_shape *shape = writer->meta->pprof;

	writer->inner.len = 0;
	for (size_t i = 0; i < PPROF_VALUES && shape->values[i].of; i++)
		protobuf_varint(&writer->inner, value_of(writer, &shape->values[i], node));
	protobuf_bytes(&writer->message, SAMPLE_VALUE, writer->inner.data, writer->inner.len);
}

/* ---- samples ---- */

static void stage_sample(struct samples *samples, uint32_t number, const struct tree_node *node)
{
	struct pprof_writer *writer = &samples->writer;

	if (gather_path(samples, number) < 0) {
		writer->error = -ENOMEM;
		return;
	}
	make_locations(samples);
	make_labels(samples);
	if (!writer->error)
		writer->error = buf_error(&samples->locations);
	if (!writer->error)
		writer->error = buf_error(&samples->labels);
	writer->message.len = 0;
	protobuf_bytes(&writer->message, SAMPLE_LOCATION, samples->locations.data,
		       samples->locations.len);
	put_values(writer, node);
	buf_add(&writer->message, samples->labels.data, samples->labels.len);
	pprof_put_message(writer, PROFILE_SAMPLE);
}

/* Takes the staged bytes into the file. */
static void take_staged(struct pprof_writer *writer)
{
	if (!writer->error) {
		gzip_add(&writer->gzip, writer->staged.data, writer->staged.len);
		writer->mappings_taken = (uint32_t)map_count(writer->by_module);
	}
	writer->bytes += writer->staged.len;
	writer->staged.len = 0;
}

static bool is_full(const struct samples *samples)
{
	const struct pprof_limits *limits = samples->limits;
	const struct pprof_writer *writer = &samples->writer;

	return (limits->samples && samples->count == limits->samples) ||
	       (limits->bytes && writer->bytes + writer->staged.len > limits->bytes);
}

/* Returns a flag for each node: 1 if it is `start` or lies below `start`. The caller owns the
 * array; NULL: no memory. */
static uint8_t *nodes_below(const struct tree *tree, uint32_t start)
{
	size_t count = tree_count(tree);
	uint8_t *below = calloc(count, 1);

	for (uint32_t i = start; below && i < count; i++)
		below[i] = i == start || below[tree_node_of(tree, i).parent];
	return below;
}

/* Puts the samples from node *at on, as many as fit. Returns -EMSGSIZE if not even one fits. */
static int put_samples(struct samples *samples, uint32_t start, uint32_t *at)
{
	struct pprof_writer *writer = &samples->writer;
	size_t count = tree_count(writer->tree);
	_cleanup_free_ uint8_t *below =
		start == TREE_ROOT ? NULL : nodes_below(writer->tree, start);

	if (start != TREE_ROOT && !below)
		return -ENOMEM;
	for (; *at < count && !writer->error; (*at)++) {
		struct tree_node node = tree_node_of(writer->tree, *at);

		if ((below && !below[*at]) || !node.weight)
			continue;
		stage_sample(samples, *at, &node);
		if (is_full(samples)) {
			writer->staged.len = 0;
			return samples->count ? 0 : -EMSGSIZE;
		}
		take_staged(writer);
		samples->count++;
	}
	return writer->error;
}

/* ---- the whole pprof ---- */

static void put_value_type(struct pprof_writer *writer, uint32_t field, const char *type,
			   const char *unit)
{
	uint32_t type_string = pprof_text(writer, type), unit_string = pprof_text(writer, unit);

	writer->message.len = 0;
	protobuf_number(&writer->message, VALUE_TYPE, type_string);
	protobuf_number(&writer->message, VALUE_UNIT, unit_string);
	pprof_put_message(writer, field);
}

__attribute__((format(printf, 2, 3))) static void put_comment(struct pprof_writer *writer,
							      const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	pprof_put_number(writer, PROFILE_COMMENT, pprof_text(writer, text));
}

/* Puts as comments the facts that a picture shows in its line of facts. */
static void put_comments(struct pprof_writer *writer)
{
	const struct profile_meta *meta = writer->meta;

	if (meta->covered_ns)
		put_comment(writer,
			    "history: native functions have no lines and no addresses; %.0f s "
			    "of this time were sampled",
			    (double)meta->covered_ns / 1e9);
	if (meta->recorded)
		put_comment(
			writer,
			"JFR: the stacks of %u of %u processes were recorded by their Java VM%s",
			meta->recorded, meta->processes,
			meta->by_period ? ": no sum of CPU time" : "");
	if (meta->lost)
		put_comment(writer, "lost: %" PRIu64 " samples", meta->lost);
	if (meta->truncated)
		put_comment(writer, "truncated: stacks of %" PRIu64 " %s don't reach their root",
			    meta->truncated, meta->count_name);
	if (!meta->by_bytes && meta->samples && meta->samples < meta->events)
		put_comment(writer, "thinned: %" PRIu64 " samples stand for %" PRIu64,
			    meta->samples, meta->events);
}

static void put_head(struct pprof_writer *writer)
{
	const struct profile_meta *meta = writer->meta;
	const struct pprof_shape *shape = meta->pprof;
	uint32_t last = 0;

	for (size_t i = 0; i < PPROF_VALUES && shape->values[i].of; i++) {
		last = pprof_text(writer, shape->values[i].type);
		put_value_type(writer, PROFILE_SAMPLE_TYPE, shape->values[i].type,
			       shape->values[i].unit);
	}
	put_value_type(writer, PROFILE_PERIOD_TYPE, shape->period_type, shape->period_unit);
	pprof_put_number(writer, PROFILE_PERIOD, meta->period_ns);
	pprof_put_number(writer, PROFILE_TIME_NANOS, (uint64_t)meta->from_ns);
	if (profile_meta_length(meta))
		pprof_put_number(writer, PROFILE_DURATION_NANOS, profile_meta_length(meta));
	pprof_put_number(writer, PROFILE_DEFAULT_SAMPLE_TYPE, last);
	put_comments(writer);
}

static int write_samples(struct samples *samples, uint32_t start, uint32_t *at)
{
	struct pprof_writer *writer = &samples->writer;

	put_head(writer);
	take_staged(writer);
	int r = put_samples(samples, start, at);
	pprof_put_mappings(writer);
	take_staged(writer);
	return r < 0 ? r : writer->error;
}

static int write_part(const struct tree *tree, uint32_t start, const struct profile_meta *meta,
		      const struct pprof_limits *limits, uint32_t *at, struct buf *out)
{
	_cleanup_(samples_done) struct samples samples = {
		.limits = limits,
		.locations = BUF_INIT(SIZE_MAX),
		.labels = BUF_INIT(SIZE_MAX),
	};
	int r = pprof_writer_init(&samples.writer, tree, meta);

	if (r == 0)
		r = gzip_begin(&samples.writer.gzip, out);
	if (r < 0)
		return r;
	r = write_samples(&samples, start, at);
	int ended = gzip_end(&samples.writer.gzip);
	return r < 0 ? r : ended;
}

int pprof_write(const struct tree *tree, uint32_t start, const struct profile_meta *meta,
		struct buf *out)
{
	static const struct pprof_limits none;
	uint32_t at = start;

	return write_part(tree, start, meta, &none, &at, out);
}

int pprof_write_part(const struct tree *tree, const struct profile_meta *meta,
		     const struct pprof_limits *limits, uint32_t *at, struct buf *out)
{
	size_t before = out->len;
	int r = write_part(tree, TREE_ROOT, meta, limits, at, out);

	if (r == -EMSGSIZE) {
		out->len = before;
		(*at)++;
	}
	return r;
}
