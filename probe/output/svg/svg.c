// SPDX-License-Identifier: GPL-2.0-or-later
/* svg_write(), html_write(): draw a tree. The walk over the tree feeds the writer of picture.h. */
#include "output/format/output.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "output/text/frame_text.h"
#include "output/svg/picture.h"

struct svg {
	struct picture picture;
	uint32_t base;	  /* the row of the node where the walk begins */
	uint64_t least;	  /* frames that weigh less are left out */
	uint64_t cursor;  /* left edge of the next frame, as a weight */
	uint64_t *events; /* by node, with all nodes below it; NULL: titles don't tell them */
	struct buf text;  /* scratch of frame_text() */
};

static void svg_done(struct svg *svg)
{
	buf_done(&svg->text);
	free(svg->events);
}

static void draw_picture_frame(struct svg *svg, const struct frame *frame,
			       struct picture_frame *drawn)
{
	drawn->type = frame->type;
	drawn->name = frame_text(&svg->text, frame, &drawn->name_len);
	picture_frame(&svg->picture, drawn);
}

/* Draws `all` and the frames that lead to `start`, each as wide as the picture. */
static void draw_leading(struct svg *svg, const struct tree *tree, uint32_t start)
{
	uint64_t total = svg->picture.setup.total;
	uint32_t node = start;

	for (uint32_t row = svg->base; row-- > 0;) {
		struct picture_frame drawn = {.row = row, .weight = total};

		node = tree_parent(tree, node);
		struct frame frame = tree_frame_of(tree, node);
		if (row == 0 || total)
			draw_picture_frame(svg, &frame, &drawn);
	}
}

/* Draws a frame. The stacks that end at a frame lie left of its children; a frame that is left out
 * leaves a gap. */
static bool draw_frame(void *arg, const struct tree_frame *node)
{
	struct svg *svg = arg;
	struct picture_frame drawn = {
		.row = svg->base + node->depth,
		.offset = svg->cursor,
		.weight = node->total,
		.self = node->self,
		.events = svg->events ? svg->events[node->node] : 0,
		.leaves_out = node->lightest < svg->least,
	};

	if (drawn.row == 0 && node->self)
		drawn.leaves_out = true; /* weight without a frame isn't narrow */
	if (drawn.row > 0 && node->total < svg->least) {
		svg->cursor += node->total;
		return false;
	}
	draw_picture_frame(svg, &node->frame, &drawn);
	svg->cursor += node->self;
	return !buf_error(svg->picture.out) && !buf_error(&svg->text);
}

static int draw_tree(const struct tree *tree, uint32_t start, const struct profile_meta *meta,
		     enum picture_form form, struct buf *out)
{
	static const struct tree_visitor visitor = {draw_frame, NULL};
	struct picture_setup setup = {.meta = meta, .form = form, .width = PICTURE_WIDTH};
	_cleanup_(svg_done) struct svg svg = {.text = BUF_INIT(SIZE_MAX)};
	int r = tree_weigh(tree, start, &setup.total);

	for (uint32_t node = start; node != TREE_ROOT; svg.base++)
		node = tree_parent(tree, node);
	svg.least = picture_least(setup.total, setup.width);
	if (r == 0 && meta->is_part_of_events) {
		svg.events = tree_sum_events(tree);
		r = svg.events ? 0 : -ENOMEM;
	}
	if (r == 0)
		r = tree_height(tree, start, svg.least, &setup.rows);
	if (r < 0)
		return r;
	setup.rows += svg.base;
	picture_begin(&svg.picture, &setup, out);
	draw_leading(&svg, tree, start);
	r = tree_walk(tree, start, &visitor, &svg);
	if (r == 0)
		r = buf_error(&svg.text);
	if (r < 0)
		return r;
	picture_end(&svg.picture);
	return buf_error(out);
}

int svg_write(const struct tree *tree, uint32_t start, const struct profile_meta *meta,
	      struct buf *out)
{
	return draw_tree(tree, start, meta, PICTURE_SVG, out);
}

int html_write(const struct tree *tree, uint32_t start, const struct profile_meta *meta,
	       struct buf *out)
{
	return draw_tree(tree, start, meta, PICTURE_HTML, out);
}
