// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/format/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "output/text/escape.h"
#include "output/text/folded_header.h"
#include "output/text/frame_text.h"

/* A line in the text. */
struct line {
	size_t from, bytes;
	uint64_t value;
};

struct folded {
	struct buf path;  /* the open frames, `;` between them */
	size_t depth;	  /* number of open frames */
	unsigned without; /* struct profile_meta.without */
	struct buf text;  /* scratch of frame_text() */
	struct buf *out;
	bool by_value;
	struct line *lines; /* if they are to be sorted by value */
	size_t count, capacity;
	int error;
};

static void folded_done(struct folded *folded)
{
	buf_done(&folded->path);
	buf_done(&folded->text);
	free(folded->lines);
}

/* Notes the line that was added from there on. */
static void note_line(struct folded *folded, size_t from, uint64_t value)
{
	if (!folded->by_value || folded->error)
		return;
	folded->error = array_grow(folded->lines, folded->capacity, folded->count + 1, 256) < 0
				? -ENOMEM
				: 0;
	if (!folded->error)
		folded->lines[folded->count++] =
			(struct line){from, folded->out->len - from, value};
}

static int compare_lines(const void *a, const void *b)
{
	const struct line *left = a, *right = b;

	if (left->value != right->value)
		return left->value < right->value ? 1 : -1;
	return (left->from > right->from) - (left->from < right->from);
}

/* Puts the lines in order of their values; equal ones stay in order of names. */
static int sort_lines(struct folded *folded)
{
	if (!folded->count)
		return 0;
	size_t from = folded->lines[0].from, bytes = folded->out->len - from;
	_cleanup_free_ char *text = malloc(bytes);
	char *to = folded->out->data + from;
	if (!text)
		return -ENOMEM;
	memcpy(text, to, bytes);
	qsort(folded->lines, folded->count, sizeof(*folded->lines), compare_lines);
	for (size_t i = 0; i < folded->count; i++) {
		const struct line *line = &folded->lines[i];

		memcpy(to, text + (line->from - from), line->bytes);
		to += line->bytes;
	}
	return 0;
}

static void push_frame(struct folded *folded, const struct frame *frame)
{
	size_t len;
	const char *text = frame_text(&folded->text, frame, &len);

	if (folded->depth++ > 0)
		buf_char(&folded->path, ';');
	folded_name(&folded->path, text, len);
	buf_str(&folded->path, frame_type_suffix(frame->type));
}

/* Removes the last frame: no name contains `;`, so the last `;` is where that frame begins. */
static void pop_frame(struct folded *folded)
{
	struct buf *path = &folded->path;
	const char *separator = path->len ? memrchr(path->data, ';', path->len) : NULL;

	path->len = separator ? (size_t)(separator - path->data) : 0;
	folded->depth--;
}

static bool is_written(const struct folded *folded, const struct frame *frame)
{
	return frame->type != FRAME_TYPE_ROOT && !(folded->without & 1u << frame->type);
}

static bool open_frame(void *arg, const struct tree_frame *node)
{
	struct folded *folded = arg;
	const struct frame *frame = &node->frame;

	if (is_written(folded, frame))
		push_frame(folded, frame);
	if (node->self) {
		size_t from = folded->out->len;

		if (!folded->depth)
			buf_str(folded->out, "[unknown]"); /* stacks without any frame */
		buf_add(folded->out, folded->path.data, folded->path.len);
		buf_char(folded->out, ' ');
		buf_u64(folded->out, node->self);
		buf_char(folded->out, '\n');
		note_line(folded, from, node->self);
	}
	return !folded->error && !buf_error(folded->out) && !buf_error(&folded->path) &&
	       !buf_error(&folded->text);
}

static void close_frame(void *arg, const struct tree_frame *node)
{
	if (is_written(arg, &node->frame))
		pop_frame(arg);
}

/* Opens the frames between the root and `start`; these frames stay open. */
static int push_leading(struct folded *folded, const struct tree *tree, uint32_t start)
{
	size_t count = 0;

	for (uint32_t node = start; (node = tree_parent(tree, node)) != TREE_ROOT;)
		count++;
	if (!count)
		return 0;
	_cleanup_free_ uint32_t *nodes = calloc(count, sizeof(*nodes));
	if (!nodes)
		return -ENOMEM;
	size_t i = count;
	for (uint32_t node = start; (node = tree_parent(tree, node)) != TREE_ROOT;)
		nodes[--i] = node;
	for (; i < count; i++) {
		struct frame frame = tree_frame_of(tree, nodes[i]);

		push_frame(folded, &frame);
	}
	return 0;
}

int folded_write(const struct tree *tree, uint32_t start, const struct profile_meta *meta,
		 struct buf *out)
{
	_cleanup_(folded_done) struct folded folded = {
		.path = BUF_INIT(SIZE_MAX),
		.text = BUF_INIT(SIZE_MAX),
		.out = out,
		.by_value = meta->by_value,
		.without = meta->without,
	};
	static const struct tree_visitor visitor = {open_frame, close_frame};
	int r = push_leading(&folded, tree, start);

	if (meta->header)
		folded_header_write(meta, out);
	if (r == 0)
		r = tree_walk(tree, start, &visitor, &folded);
	if (r == 0)
		r = buf_error(&folded.path);
	if (r == 0)
		r = buf_error(&folded.text);
	if (r == 0)
		r = folded.error ? folded.error : buf_error(out);
	return r == 0 ? sort_lines(&folded) : r;
}
