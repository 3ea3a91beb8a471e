// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/format/output.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "output/text/escape.h"
#include "output/text/folded_header.h"
#include "output/text/frame_text.h"

struct folded {
	struct buf path; /* the open frames, `;` between them */
	size_t depth;	 /* number of open frames */
	struct buf text; /* scratch of frame_text() */
	struct buf *out;
};

static void folded_done(struct folded *folded)
{
	buf_done(&folded->path);
	buf_done(&folded->text);
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

static bool open_frame(void *arg, const struct tree_frame *node)
{
	struct folded *folded = arg;
	const struct frame *frame = &node->frame;
	bool is_root = frame->type == FRAME_TYPE_ROOT;

	if (!is_root)
		push_frame(folded, frame);
	if (node->self) {
		if (is_root)
			buf_str(folded->out, "[unknown]"); /* stacks without any frame */
		buf_add(folded->out, folded->path.data, folded->path.len);
		buf_char(folded->out, ' ');
		buf_u64(folded->out, node->self);
		buf_char(folded->out, '\n');
	}
	return !buf_error(folded->out) && !buf_error(&folded->path) && !buf_error(&folded->text);
}

static void close_frame(void *arg, const struct tree_frame *node)
{
	if (node->frame.type != FRAME_TYPE_ROOT)
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
	return r < 0 ? r : buf_error(out);
}
