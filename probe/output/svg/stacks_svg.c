// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/svg/stacks_svg.h"

#include <string.h>

#include "base/cleanup.h"
#include "output/svg/picture.h"
#include "output/svg/stacks_walk.h"
#include "output/text/head_frame.h"

#define CHUNK_BYTES (64 * 1024)
#define TEXT_MAX    (UINT64_C(1) << 30) /* bytes of one flush; any frame's name takes fewer */

struct drawing {
	const struct stacks *stacks;
	const struct stacks_svg *svg;
	struct picture picture;
	struct buf out;
	uint32_t rows;
	enum frame_type heads[HEAD_ROWS + 1]; /* types of the stack's first frames, by row */
	int error;
};

static void drawing_done(struct drawing *drawing)
{
	buf_done(&drawing->out);
}

static bool count_rows(void *arg, const struct stacks_chain *chain)
{
	struct drawing *drawing = arg;
	uint32_t rows = chain->depth + stacks_chain_frames(chain);

	if (rows > drawing->rows)
		drawing->rows = rows;
	return true;
}

static bool is_name(const struct picture_frame *frame, const char *name)
{
	return frame->name_len == strlen(name) && memcmp(frame->name, name, strlen(name)) == 0;
}

/* Returns the type of a frame on one of type `on`. In a difference processes have no pid. */
static enum frame_type type_of_head(const struct drawing *drawing, const char *name, size_t len,
				    enum frame_type on)
{
	enum frame_type type = head_frame_type(name, len, on);
	bool may_be_process = (on == FRAME_TYPE_ROOT || on == FRAME_TYPE_CONTAINER) &&
			      !(len && name[0] == '['); /* a marker */

	return type == FRAME_TYPE_NATIVE && drawing->svg->has_processes && may_be_process
		       ? FRAME_TYPE_PROCESS
		       : type;
}

static void find_kind(struct drawing *drawing, struct picture_frame *frame)
{
	bool may_be_head = frame->row > 0 && frame->row <= HEAD_ROWS;

	frame->type = may_be_head ? type_of_head(drawing, frame->name, frame->name_len,
						 drawing->heads[frame->row - 1])
				  : FRAME_TYPE_NATIVE;
	if (may_be_head)
		drawing->heads[frame->row] = frame->type;
	if (frame->type != FRAME_TYPE_NATIVE)
		return;
	frame->type = frame_type_parse(frame->name, &frame->name_len);
	if (frame->type == FRAME_TYPE_NATIVE &&
	    (is_name(frame, "[truncated]") || is_name(frame, "[unknown]")))
		frame->type = FRAME_TYPE_MARKER;
}

/* Finds the types of what a chain stands on, which is drawn after it. */
static void find_heads(struct drawing *drawing, const struct stacks_chain *chain)
{
	const char *name = chain->text;

	for (uint32_t row = 1; row < chain->depth && row <= HEAD_ROWS; row++) {
		const char *end = memchr(name, ';', (size_t)(chain->begin - name));

		drawing->heads[row] =
			type_of_head(drawing, name, (size_t)(end - name), drawing->heads[row - 1]);
		name = end + 1;
	}
}

/* Sets the own weights that the picture compares. */
static void set_own(const struct drawing *drawing, struct picture_frame *frame,
		    const uint64_t own[2])
{
	uint64_t after = own[STACKS_AFTER];
	uint64_t before = stacks_before(drawing->stacks, own[STACKS_BEFORE]);

	frame->own = drawing->svg->negate ? before : after;
	frame->own_before = drawing->svg->negate ? after : before;
}

static int flush_drawing(struct drawing *drawing)
{
	int r = buf_error(&drawing->out);

	return r < 0 ? r : drawing->svg->flush(drawing->svg->arg, &drawing->out);
}

static bool draw_chain(void *arg, const struct stacks_chain *chain)
{
	struct drawing *drawing = arg;
	struct picture_frame frame = {
		.row = chain->depth, .offset = chain->offset, .weight = chain->weight};

	find_heads(drawing, chain);
	for (const char *name = chain->begin, *next; name; name = next, frame.row++) {
		const char *end = memchr(name, ';', (size_t)(chain->end - name));

		next = end ? end + 1 : NULL;
		frame.name = name;
		frame.name_len = (size_t)((end ? end : chain->end) - name);
		find_kind(drawing, &frame);
		if (!end) {
			frame.self = chain->own[STACKS_AFTER];
			frame.leaves_out = chain->leaves_out;
		}
		if (!end && drawing->svg->is_diff)
			set_own(drawing, &frame, chain->own);
		picture_frame(&drawing->picture, &frame);
		if (drawing->out.len >= CHUNK_BYTES || buf_error(&drawing->out))
			drawing->error = flush_drawing(drawing);
		if (drawing->error)
			return false;
	}
	return true;
}

/* Returns the weight of the stacks without any frame; they are sorted before all others. */
static uint64_t frameless_weight(const struct stacks *stacks)
{
	uint64_t weight = 0;

	for (size_t i = 0; i < stacks->count && !stacks_length(&stacks->lines[i]); i++) {
		if (stacks_side(&stacks->lines[i]) == STACKS_AFTER)
			weight += stacks_weight(stacks, &stacks->lines[i]);
	}
	return weight;
}

int stacks_svg_write(struct stacks *stacks, const struct stacks_svg *svg)
{
	_cleanup_(drawing_done) struct drawing drawing = {
		.stacks = stacks, .svg = svg, .out = BUF_INIT(TEXT_MAX), .rows = 1};
	struct picture_setup setup = {
		.meta = &svg->meta,
		.form = svg->form,
		.width = svg->width,
		.total = stacks->totals[STACKS_AFTER],
		.is_diff = svg->is_diff,
		.total_before = stacks->totals[STACKS_BEFORE],
		.negate = svg->negate,
		.rules = svg->rules,
		.took_ms = {folded_header_took_ms(&stacks->headers[STACKS_AFTER]),
			    folded_header_took_ms(&stacks->headers[STACKS_BEFORE])},
		.common = svg->common,
		.has_common = svg->has_common,
	};
	uint64_t least = picture_least(setup.total, setup.width);

	if (stacks->normalize && setup.total_before) {
		double scale = (double)setup.total / (double)setup.total_before;

		*(svg->negate ? &setup.rules.after_scale : &setup.rules.before_scale) = scale;
	}
	stacks_sort(stacks);
	setup.max_change = stacks_link(stacks);
	int r = stacks_walk(stacks, least, count_rows, &drawing);
	if (r < 0)
		return r;
	setup.rows = drawing.rows;
	picture_begin(&drawing.picture, &setup, &drawing.out);
	uint64_t self = frameless_weight(stacks);
	picture_frame(&drawing.picture, &(struct picture_frame){.weight = setup.total,
								.self = self,
								.leaves_out = self > 0});
	r = stacks_walk(stacks, least, draw_chain, &drawing);
	if (r == 0)
		r = drawing.error;
	if (r < 0)
		return r;
	picture_end(&drawing.picture);
	return flush_drawing(&drawing);
}
