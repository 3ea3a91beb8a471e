// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/svg/stacks_svg.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "output/svg/picture.h"
#include "output/svg/stacks_walk.h"
#include "output/text/head_frame.h"

#define CHUNK_BYTES (64 * 1024)
#define TEXT_MAX    (UINT64_C(1) << 30) /* bytes of one flush; any frame's name takes fewer */

struct drawing {
	const struct stacks *stacks;
	const struct stacks_svg *svg;
	const struct picture_setup *setup;
	struct picture picture;
	struct buf out;
	uint32_t rows;
	uint64_t most, undrawn;		      /* diff by time: note_change() */
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

/* Returns what is known of the change of a frame's own weight. `stack` is the text from the root to
 * it. What is no function (`[anon]`, `[truncated]`), or has a name that was changed for the
 * comparison, goes by the whole of the nearest function that it stands on. */
static enum change_verdict verdict_of(const struct drawing *drawing, const char *stack, size_t len)
{
	const struct judged_functions *judged = drawing->svg->judged;
	const struct judged_function *verdict = NULL;
	signed char direction = 0;

	if (!judged)
		return CHANGE_BY_RULES;
	for (const char *end = stack + len, *separator; end && !verdict; end = separator) {
		separator = memrchr(stack, ';', (size_t)(end - stack));
		const char *name = separator ? separator + 1 : stack;

		verdict = judged_find(judged, name, (size_t)(end - name));
		if (verdict)
			direction = end == stack + len ? verdict->self : verdict->total;
	}
	if (!verdict)
		return CHANGE_UNJUDGED;
	return direction == 0 ? CHANGE_NOISE : direction > 0 ? CHANGE_GROWN : CHANGE_SHRUNK;
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

/* Sets the own weights that the picture compares, of the last frame of a chain. */
static void set_own(const struct drawing *drawing, struct picture_frame *frame,
		    const struct stacks_chain *chain)
{
	const uint64_t *own = chain->own;
	uint64_t after = own[STACKS_AFTER];
	uint64_t before = stacks_before(drawing->stacks, own[STACKS_BEFORE]);
	bool negate = drawing->svg->negate;

	frame->own = negate ? before : after;
	frame->own_before = negate ? after : before;
	if (!stacks_are_by_time(drawing->stacks))
		return;
	frame->counted[0] = own[negate ? STACKS_AFTER : STACKS_BEFORE];
	frame->counted[1] = own[negate ? STACKS_BEFORE : STACKS_AFTER];
	if (frame->own != frame->own_before)
		frame->verdict =
			verdict_of(drawing, chain->text, (size_t)(chain->end - chain->text));
}

/* Notes the largest change that is shown, and how much of `before` lies in stacks that have no
 * width. */
static bool note_change(void *arg, const struct stacks_chain *chain)
{
	struct drawing *drawing = arg;
	struct picture_frame frame = {0};

	set_own(drawing, &frame, chain);
	uint64_t change = frame.own > frame.own_before ? frame.own - frame.own_before
						       : frame.own_before - frame.own;
	if (!change_is_shown(&drawing->setup->rules, frame.verdict, drawing->setup->total,
			     frame.own_before, frame.own))
		return true;
	if (change > drawing->most)
		drawing->most = change;
	if (!chain->own[STACKS_AFTER])
		drawing->undrawn += chain->own[STACKS_BEFORE];
	return true;
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
			set_own(drawing, &frame, chain);
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

static uint64_t took_ms(const struct stacks *stacks, enum stacks_side side)
{
	return stacks_are_by_time(stacks) ? stacks->took_ns[side] / NS_PER_MS
					  : folded_header_took_ms(&stacks->headers[side]);
}

static struct picture_setup setup_of(const struct stacks *stacks, const struct stacks_svg *svg)
{
	const struct folded_header *before = &stacks->headers[STACKS_BEFORE];
	struct picture_setup setup = {
		.meta = &svg->meta,
		.form = svg->form,
		.width = svg->width,
		.total = stacks->totals[STACKS_AFTER],
		.is_diff = svg->is_diff,
		.total_before = stacks->totals[STACKS_BEFORE],
		.negate = svg->negate,
		.rules = svg->rules,
		.is_judged = svg->judged,
		.by_time = stacks_are_by_time(stacks),
		.scale = stacks_scale(stacks),
		.took_ms = {took_ms(stacks, STACKS_AFTER), took_ms(stacks, STACKS_BEFORE)},
		.common = svg->common,
		.has_common = svg->has_common,
		.remark = svg->remark,
	};

	if (setup.by_time) {
		setup.before_from = (time_t)(before->from_ms / 1000);
		setup.before_until = (time_t)(before->until_ms / 1000);
	}
	*(svg->negate ? &setup.rules.after_scale : &setup.rules.before_scale) = setup.scale;
	return setup;
}

int stacks_svg_write(struct stacks *stacks, const struct stacks_svg *svg)
{
	struct picture_setup setup = setup_of(stacks, svg);
	_cleanup_(drawing_done) struct drawing drawing = {.stacks = stacks,
							  .svg = svg,
							  .setup = &setup,
							  .out = BUF_INIT(TEXT_MAX),
							  .rows = 1};
	uint64_t least = picture_least(setup.total, setup.width);
	int r = 0;

	stacks_sort(stacks);
	setup.max_change = stacks_link(stacks);
	if (setup.by_time) {
		r = stacks_walk(stacks, 0, note_change, &drawing);
		setup.max_change = drawing.most;
		setup.undrawn = drawing.undrawn;
	}
	if (r == 0)
		r = stacks_walk(stacks, least, count_rows, &drawing);
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
