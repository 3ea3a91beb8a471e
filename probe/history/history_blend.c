// SPDX-License-Identifier: GPL-2.0-or-later
#include "history/history_blend.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/grow.h"
#include "profile/by_container.h"
#include "history/history_functions_state.h"

#define NOT_YET	   UINT32_MAX
#define SHORTEST_S 0.001 /* a window of no length would divide by zero */

/* What of a filter a frame meets. */
#define MEETS_PID	1u
#define MEETS_COMM	2u
#define MEETS_CONTAINER 4u
#define MEETS_THREAD	8u

bool history_filter_chooses(const struct history_filter *filter)
{
	return filter->pid || filter->comm[0] || filter->container[0] || filter->thread[0];
}

static unsigned wanted_of(const struct history_filter *filter)
{
	return (filter->pid ? MEETS_PID : 0) | (filter->comm[0] ? MEETS_COMM : 0) |
	       (filter->container[0] ? MEETS_CONTAINER : 0) |
	       (filter->thread[0] ? MEETS_THREAD : 0);
}

static bool is_text(const char *name, size_t len, const char *text)
{
	return text[0] && strlen(text) == len && memcmp(name, text, len) == 0;
}

/* Returns whether the name is a prefix and the text behind it. */
static bool is_behind(const struct frame *frame, const char *prefix, const char *text)
{
	size_t before = strlen(prefix);

	return frame->name_len > before && memcmp(frame->name, prefix, before) == 0 &&
	       is_text(frame->name + before, frame->name_len - before, text);
}

static unsigned meets_process(const struct history_filter *filter, const struct frame *frame)
{
	char process[32];
	const char *end = memchr(frame->name, ']', frame->name_len);
	unsigned met = 0;

	if (!end)
		return 0;
	int len = snprintf(process, sizeof(process), "[%d]", filter->pid);
	if (filter->pid && frame->name_len >= (size_t)len &&
	    memcmp(frame->name, process, (size_t)len) == 0)
		met |= MEETS_PID;
	if (is_text(end + 1, frame->name_len - (size_t)(end + 1 - frame->name), filter->comm))
		met |= MEETS_COMM;
	return met;
}

static unsigned meets_filter(const struct history_filter *filter, const struct frame *frame)
{
	switch (frame->type) {
	case FRAME_TYPE_POD:
		return is_behind(frame, POD_PREFIX, filter->container) ? MEETS_CONTAINER : 0;
	case FRAME_TYPE_CONTAINER:
		return is_behind(frame, CONTAINER_PREFIX, filter->container) ? MEETS_CONTAINER : 0;
	case FRAME_TYPE_PROCESS:
		return meets_process(filter, frame);
	case FRAME_TYPE_THREAD:
		return is_text(frame->name, frame->name_len, filter->thread) ? MEETS_THREAD : 0;
	default:
		return 0;
	}
}

/* A node on the way from the root to the present one. */
struct open_node {
	uint32_t frame, to; /* number in the tree; NOT_YET: nothing of it was taken */
	uint32_t function;  /* NOT_YET: it is none */
	uint32_t process;   /* whose it is, where functions are told so: NO_PROCESS */
	unsigned met;
	uint64_t total; /* what was taken below it and of it */
};

/* A record's frame in the table of functions. */
struct known_function {
	uint32_t number; /* plus 1; 0: not yet */
	uint32_t process;
};

struct blending {
	struct blend *blend;
	const struct frames_reader *reader;
	unsigned wanted;
	/* What a weight of the record is in the blend, and what rounding has left of those before.
	 */
	double scale, weight_left, events_left;
	struct open_node *open;
	size_t depth, capacity; /* open nodes */
	uint32_t *frames; /* by the record's frames: numbers in the tree, plus 1; 0: not yet */
	struct known_function *functions; /* by the record's frames */
};

/* Notes that the record has the function. */
static struct function_now *touch_function(struct functions *functions, uint32_t number)
{
	struct function_now *now = &functions->now[number];

	if (!now->is_touched) {
		*now = (struct function_now){.is_touched = true, .open = now->open};
		functions->touched[functions->touched_count++] = number;
	}
	return now;
}

/* Ends the nodes from `depth` on. */
static void close_nodes(struct blending *blending, size_t depth)
{
	struct functions *functions = blending->blend->functions;

	while (blending->depth > depth) {
		const struct open_node *node = &blending->open[--blending->depth];

		if (blending->depth)
			blending->open[blending->depth - 1].total += node->total;
		if (node->function == NOT_YET)
			continue;
		functions->now[node->function].open--;
		if (node->total && !functions->now[node->function].open)
			touch_function(functions, node->function)->total += node->total;
	}
}

/* Returns the number of a function's frame; NOT_YET: it is none. */
static int64_t function_of(const struct blending *blending, uint32_t number, uint32_t process)
{
	const struct frame *frame = &blending->reader->frames[number];
	struct known_function *known = &blending->functions[number];
	bool is_process = blending->blend->by_process && frame->type == FRAME_TYPE_PROCESS;

	if (frame->type <= FRAME_TYPE_MARKER && !is_process)
		return NOT_YET;
	if (is_process)
		process = NO_PROCESS; /* also where a damaged record has it below another one */
	if (!known->number || known->process != process) {
		int64_t found = functions_find(blending->blend->functions, process, frame->type,
					       frame->name, frame->name_len);

		if (found == -ENOSPC && process != NO_PROCESS) {
			blending->blend->functions->refused++;
			return NOT_YET;
		}
		if (found < 0)
			return found;
		*known = (struct known_function){(uint32_t)found + 1, process};
	}
	return known->number - 1;
}

/* Notes which container the present node's process is in: the nearest one on the way to it. */
static int note_container(const struct blending *blending, uint32_t process)
{
	struct functions *functions = blending->blend->functions;

	for (size_t i = blending->depth; i-- > 1;) {
		const struct frame *frame = &blending->reader->frames[blending->open[i].frame];

		if (frame->type != FRAME_TYPE_POD && frame->type != FRAME_TYPE_CONTAINER)
			continue;
		if (frame->name_len < strlen(CONTAINER_PREFIX))
			continue; /* a damaged record's */
		int64_t number = functions_find(functions, NO_PROCESS, frame->type, frame->name,
						frame->name_len);
		if (number < 0)
			return (int)number;
		functions->rows[process].container = functions->rows[number].name;
		break;
	}
	return 0;
}

/* Finds whose the node is, and which function. */
static int open_function(const struct blending *blending, struct open_node *node)
{
	const struct frame *frame = &blending->reader->frames[node->frame];

	node->process = blending->open[blending->depth - 1].process;
	if (!blending->blend->functions)
		return 0;
	int64_t function = function_of(blending, node->frame, node->process);
	if (function < 0)
		return (int)function;
	node->function = (uint32_t)function;
	if (function == NOT_YET || frame->type != FRAME_TYPE_PROCESS)
		return 0;
	node->process = node->function;
	return note_container(blending, node->process);
}

static int open_node(struct blending *blending, const struct frames_node *from)
{
	struct open_node node = {
		.frame = from->frame, .to = NOT_YET, .function = NOT_YET, .process = NO_PROCESS};

	close_nodes(blending, from->depth);
	if (array_grow(blending->open, blending->capacity, blending->depth + 1, 64) < 0)
		return -ENOMEM;
	if (!from->depth) {
		node.to = TREE_ROOT;
	} else {
		const struct frame *frame = &blending->reader->frames[from->frame];
		int r = open_function(blending, &node);

		if (r < 0)
			return r;
		node.met = blending->open[blending->depth - 1].met |
			   meets_filter(&blending->blend->filter, frame);
	}
	if (node.function != NOT_YET)
		blending->blend->functions->now[node.function].open++;
	blending->open[blending->depth++] = node;
	return 0;
}

/* Makes the present node, and those that lead to it, in the tree. */
static int make_nodes(const struct blending *blending)
{
	struct tree *tree = blending->blend->tree;
	size_t made = blending->depth;

	while (made && blending->open[made - 1].to == NOT_YET)
		made--;
	for (; made < blending->depth; made++) {
		struct open_node *node = &blending->open[made];
		uint32_t *known = &blending->frames[node->frame];

		if (!*known) {
			int64_t number = tree_frame(tree, &blending->reader->frames[node->frame]);

			if (number < 0)
				return (int)number;
			*known = (uint32_t)number + 1;
		}
		int64_t to = tree_child_of(tree, blending->open[made - 1].to, *known - 1);
		if (to < 0)
			return (int)to;
		node->to = (uint32_t)to;
	}
	return 0;
}

/* Returns a weight as the blend counts it. What rounding leaves goes to the next one, so that the
 * sum of many is exact to one. */
static uint64_t scaled_weight(uint64_t weight, double scale, double *left)
{
	if (scale <= 1)
		return weight;
	double exact = (double)weight * scale + *left, whole = floor(exact + 0.5);
	*left = exact - whole;
	return whole > 0 ? (uint64_t)whole : 0;
}

/* Takes the weight of the present node. */
static int take_weight(struct blending *blending, const struct frames_node *from)
{
	struct blend *blend = blending->blend;
	struct open_node *node = &blending->open[blending->depth - 1];

	if ((node->met & blending->wanted) != blending->wanted || (!from->self && !from->events))
		return 0;
	uint64_t self = scaled_weight(from->self, blending->scale, &blending->weight_left);
	uint64_t events = scaled_weight(from->events, blending->scale, &blending->events_left);
	node->total += self;
	blend->weight += self;
	blend->events += events;
	if (node->function != NOT_YET)
		touch_function(blend->functions, node->function)->self += self;
	int r = blend->tree ? make_nodes(blending) : 0;
	if (r < 0 || !blend->tree)
		return r;
	tree_add(blend->tree, node->to, self);
	tree_add_events(blend->tree, node->to, events);
	return 0;
}

static void add_weight(struct function_weight *to, uint64_t weight, double variation, double length)
{
	to->sum += (double)weight;
	to->squares += (double)weight * (double)weight / length * (1 + variation);
}

static double squares_of(const struct blend *blend, const struct history_head *head, double length)
{
	bool is_one = blend->by_process || history_filter_chooses(&blend->filter);

	return is_one ? length * length : (double)head->squares_ms2 / 1e6;
}

/*
 * Notes which processes the record is the first one to have, and how much of the range before is
 * over then. Such a process may have begun within the record, so that counts as time before it; but
 * for the range's first record: it was there already, as far as anybody knows.
 */
static void note_begins(const struct blending *blending, double length, double squares)
{
	struct functions *functions = blending->blend->functions;
	const struct blend *blend = blending->blend;

	for (size_t i = 0; i < functions->touched_count; i++) {
		struct function_row *row = &functions->rows[functions->touched[i]];

		if (row->type != FRAME_TYPE_PROCESS)
			continue;
		row->begins = !row->is_seen && blend->side == HISTORY_BEFORE && blend->length > 0;
		row->is_seen = true;
		if (row->begins) {
			row->late_length = blend->length + length;
			row->late_squares = blend->squares + squares;
		}
	}
}

/* Returns whether a row's process begins with this record. */
static bool is_beginning(const struct functions *functions, const struct function_row *row)
{
	return row->process == NO_PROCESS ? row->begins : functions->rows[row->process].begins;
}

/* Adds the record's functions to their sums. */
static void add_functions(const struct blending *blending, double length)
{
	struct functions *functions = blending->blend->functions;
	enum history_side side = blending->blend->side;

	for (size_t i = 0; i < functions->touched_count; i++) {
		struct function_now *now = &functions->now[functions->touched[i]];
		struct function_row *row = &functions->rows[functions->touched[i]];

		if (!is_beginning(functions, row)) {
			add_weight(&row->self[side], now->self, now->variation.self, length);
			add_weight(&row->total[side], now->total, now->variation.total, length);
		}
		*now = (struct function_now){0};
	}
	functions->touched_count = 0;
}

static void read_variations(const struct blending *blending, struct history_payload *payload)
{
	struct history_variation variation;

	while (history_variation_next(payload, &variation)) {
		uint32_t known = blending->functions[variation.frame].number;

		if (known)
			touch_function(blending->blend->functions, known - 1)->variation =
				variation;
	}
}

static int blend_nodes(struct blending *blending, struct frames_reader *reader)
{
	struct frames_node node;
	int r;

	while ((r = frames_reader_next(reader, &node)) > 0) {
		r = open_node(blending, &node);
		if (r == 0)
			r = take_weight(blending, &node);
		if (r < 0)
			break;
	}
	close_nodes(blending, 0);
	return r;
}

int blend_add(struct blend *blend, const struct history_head *head, struct history_payload *payload)
{
	struct frames_reader reader;
	bool is_one = blend->by_process || history_filter_chooses(&blend->filter);
	double length = (double)head->covered_ns / (double)NS_PER_S;
	int r = frames_reader_begin(&reader, payload->columns, payload->frames, payload->nodes);
	_cleanup_free_ uint32_t *frames = calloc((size_t)payload->frames + 1, sizeof(*frames));
	_cleanup_free_ struct known_function *functions =
		calloc((size_t)payload->frames + 1, sizeof(*functions));
	struct blending blending = {
		.blend = blend,
		.reader = &reader,
		.wanted = wanted_of(&blend->filter),
		.scale = head->period_ns && blend->period_ns
				 ? (double)head->period_ns / (double)blend->period_ns
				 : 1,
		.frames = frames,
		.functions = functions,
	};

	if (length < SHORTEST_S)
		length = SHORTEST_S;
	if (r == 0 && (!frames || !functions))
		r = -ENOMEM;
	if (r == 0)
		r = blend_nodes(&blending, &reader);
	if (blend->functions)
		blend->functions->by_process = blend->by_process;
	if (blend->functions && frames && functions) {
		if (r == 0 && !is_one)
			read_variations(&blending, payload);
		note_begins(&blending, length, squares_of(blend, head, length));
		add_functions(&blending, length);
	}
	free(blending.open);
	frames_reader_done(&reader);
	history_head_add(&blend->sum, head);
	double left = 0;
	blend->sum.weight += scaled_weight(head->weight, blending.scale, &left) - head->weight;
	left = 0;
	blend->sum.truncated +=
		scaled_weight(head->truncated, blending.scale, &left) - head->truncated;
	if (head->period_ns && blend->period_ns)
		blend->sum.period_ns = blend->period_ns;
	blend->length += length;
	blend->squares += squares_of(blend, head, length);
	return r;
}
