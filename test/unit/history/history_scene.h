/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Windows that are made up, what a blend of them has, and the same added up in another way. */
#pragma once

#include <math.h>

#include "history/history_blend.h"
#include "unit/output/tree_figures.h"
#include "unit/output/tree_text.h"

#define SECOND INT64_C(1000000000)
#define MINUTE (60 * SECOND)
#define HOUR   (60 * MINUTE)
#define BEGIN  (INT64_C(1699999200) * SECOND) /* a full hour that is long over */
#define SERIES "oncpu"

/* ---- stacks ---- */

/* A frame as these tests write it: `[Pod]x`, `[Con]y`, `[12]comm`, `~thread`, `work_[k]`. */
static inline struct frame frame_written(const char *text)
{
	struct frame frame = {.name = text, .name_len = strlen(text)};

	if (text[0] == '~') {
		frame.type = FRAME_TYPE_THREAD;
		frame.name++;
		frame.name_len--;
	} else if (text[0] == '[') {
		frame.type = strncmp(text, "[Pod]", 5) == 0   ? FRAME_TYPE_POD
			     : strncmp(text, "[Con]", 5) == 0 ? FRAME_TYPE_CONTAINER
			     : strchr(text, ']')[1]	      ? FRAME_TYPE_PROCESS
							      : FRAME_TYPE_MARKER;
	} else {
		frame.type = frame_type_parse(text, &frame.name_len);
	}
	return frame;
}

/* Adds a stack `[12]app;main;work_[k]`. */
static inline void add_stack(struct tree *tree, const char *stack, uint64_t weight, uint64_t events)
{
	char text[512], *rest = text;
	uint32_t node = TREE_ROOT;

	assert_true(snprintf(text, sizeof(text), "%s", stack) < (int)sizeof(text));
	for (char *name; (name = strsep(&rest, ";"));) {
		struct frame frame = frame_written(name);
		int64_t child = tree_child_with(tree, node, &frame);

		assert_true(child > 0);
		node = (uint32_t)child;
	}
	tree_add(tree, node, weight);
	tree_add_events(tree, node, events);
}

/* ---- windows ---- */

struct made_window {
	struct history_head head;
	struct buf payload;
};

static inline void window_done(struct made_window *window)
{
	buf_done(&window->payload);
}
#define _cleanup_window_ _cleanup_(window_done)

/* Packs a tree as a window. The head gets its number by who keeps it. */
static inline struct made_window window_of(const struct tree *tree, int64_t from, int64_t length)
{
	_cleanup_free_ uint64_t *events = tree_sum_events(tree);
	uint64_t length_ms = (uint64_t)(length / 1000000);
	struct frames_columns columns;
	struct made_window window = {
		.head =
			{
				.from = from,
				.until = from + length,
				.begun = BEGIN,
				.covered_ns = (uint64_t)length,
				.squares_ms2 = length_ms * length_ms,
				.windows = 1,
				.period_ns = 10000000,
				.weight = weight_of(tree),
				.samples = weight_of(tree),
				.lost = 1,
				.processes = 1,
			},
		.payload = BUF_INIT(2 * HISTORY_PAYLOAD_MAX),
	};

	assert_non_null(events);
	window.head.events = events[TREE_ROOT];
	assert_int_equal(frames_columns_make(&columns, tree, TREE_ROOT, HISTORY_PAYLOAD_MAX), 0);
	assert_int_equal(history_pack(&window.payload, &window.head, &columns, NULL, 0), 0);
	frames_columns_done(&columns);
	return window;
}

/* ---- blends ---- */

/* A blend with a tree and a table of functions of its own. */
static inline struct blend new_blend(void)
{
	struct blend blend = {.tree = new_tree()};

	assert_int_equal(functions_new(&blend.functions), 0);
	return blend;
}

static inline void blend_done(struct blend *blend)
{
	tree_free(blend->tree);
	functions_free(blend->functions);
}
#define _cleanup_blend_ _cleanup_(blend_done)

/* Adds a packed payload. Returns what blend_add() returns, or the error of unpacking. */
static inline int blend_window(struct blend *blend, const struct made_window *window)
{
	struct history_payload payload;
	int r = history_unpack(&payload, &window->head, window->payload.data);

	if (r == 0)
		r = blend_add(blend, &window->head, &payload);
	history_payload_done(&payload);
	return r;
}

static inline void assert_folded(const struct tree *tree, const char *expected)
{
	_cleanup_free_ char *text = write_with("folded", tree, TREE_ROOT, &plain_meta);

	assert_string_equal(text, expected);
}

/* The same frames, nodes, weights and events. */
static inline void assert_same_trees(const struct tree *a, const struct tree *b)
{
	struct frames_columns of[2];

	assert_int_equal(frames_columns_make(&of[0], a, TREE_ROOT, HISTORY_PAYLOAD_MAX), 0);
	assert_int_equal(frames_columns_make(&of[1], b, TREE_ROOT, HISTORY_PAYLOAD_MAX), 0);
	assert_int_equal(of[0].nodes, of[1].nodes);
	assert_int_equal(of[0].frames, of[1].frames);
	for (int i = 0; i < FRAMES_COLUMNS; i++) {
		assert_int_equal(of[0].columns[i].len, of[1].columns[i].len);
		if (of[0].columns[i].len)
			assert_memory_equal(of[0].columns[i].data, of[1].columns[i].data,
					    of[0].columns[i].len);
	}
	frames_columns_done(&of[0]);
	frames_columns_done(&of[1]);
}

/* Returns a function's row; NULL: the table hasn't got it. Doesn't add it. */
static inline const struct function_row *find_function(const struct functions *functions,
						       const char *written)
{
	struct frame frame = frame_written(written);

	for (size_t i = 0; i < functions_count(functions); i++) {
		const struct function_row *row = functions_at(functions, i);

		if (row->type == frame.type && strlen(row->name) == frame.name_len &&
		    memcmp(row->name, frame.name, frame.name_len) == 0)
			return row;
	}
	return NULL;
}

static inline void assert_weights(const struct blend *blend, const char *written, double self,
				  double total)
{
	const struct function_row *row = find_function(blend->functions, written);

	assert_non_null(row);
	if (row->self[blend->side].sum != self || row->total[blend->side].sum != total)
		fail_msg("%s: self %g, total %g", written, row->self[blend->side].sum,
			 row->total[blend->side].sum);
}

/*
 * Squares of records that were put together are rounded: the part of them that is variation, to
 * 0.6 % each time, so twice in an hour; the part that is the mean to what a double has.
 */
static inline void assert_same_weight(const char *name, const struct function_weight *wanted,
				      const struct function_weight *found, double length)
{
	double mean = wanted->sum * wanted->sum / length;
	double allowed = 0.013 * fabs(wanted->squares - mean) + 1e-5 * wanted->squares;

	if (wanted->sum != found->sum || fabs(wanted->squares - found->squares) > allowed)
		fail_msg("%s: sums %.17g and %.17g, squares %.17g and %.17g", name, wanted->sum,
			 found->sum, wanted->squares, found->squares);
}

static inline void assert_same_functions(const struct blend *wanted, const struct blend *found)
{
	enum history_side side = wanted->side;

	assert_int_equal(functions_count(wanted->functions), functions_count(found->functions));
	for (size_t i = 0; i < functions_count(wanted->functions); i++) {
		const struct function_row *row = functions_at(wanted->functions, i), *other = NULL;

		for (size_t k = 0; k < functions_count(found->functions) && !other; k++) {
			other = functions_at(found->functions, k);
			if (other->type != row->type || strcmp(other->name, row->name) != 0)
				other = NULL;
		}
		assert_non_null(other);
		assert_same_weight(row->name, &row->self[side], &other->self[side], wanted->length);
		assert_same_weight(row->name, &row->total[side], &other->total[side],
				   wanted->length);
	}
}

static inline void assert_same_heads(const struct history_head *a, const struct history_head *b)
{
	assert_int_equal(a->first, b->first);
	assert_int_equal(a->last, b->last);
	assert_int_equal(a->from, b->from);
	assert_int_equal(a->until, b->until);
	assert_int_equal(a->covered_ns, b->covered_ns);
	assert_int_equal(a->squares_ms2, b->squares_ms2);
	assert_int_equal(a->windows, b->windows);
	assert_int_equal(a->weight, b->weight);
	assert_int_equal(a->events, b->events);
	assert_int_equal(a->samples, b->samples);
	assert_int_equal(a->lost, b->lost);
	assert_int_equal(a->processes, b->processes);
}
