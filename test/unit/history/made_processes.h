/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Windows of many processes with the same functions, whose weights are drawn from distributions,
 * and two ranges of them compared by process. The numbers are the same in every run. */
#pragma once

#include "unit/history/made_rates.h"
#include "unit/history/process_scene.h"

#define PROCESSES  30
#define OF_PROCESS 6 /* functions below main */
#define ALL_OF	   (PROCESSES * OF_PROCESS)
#define FIRST_PID  101

struct crowd_question {
	enum rate_shape shape; /* RATE_BURSTS: of all functions of one process */
	int windows[HISTORY_SIDES];
	double noise;
	int planted;   /* a process whose function 3 … */
	double slower; /* … has that much more, after */
	bool begins;   /* of process i the first record is that number i, and has a part of it */
	double scale;  /* of all rates; 0: 1 */
	enum { HUGE_NONE, HUGE_LEFT_OUT, HUGE_JUDGED } huge; /* one more process changed hugely */
};

/* Columns whose weights are written anew for each window. */
struct crowd {
	struct frames_columns made;
	struct buf selves;
};

static inline struct crowd crowd_new(void)
{
	_cleanup_tree_ struct tree *tree = new_tree();
	struct crowd crowd = {.selves = BUF_INIT(1 << 20)};

	for (int i = 0; i < ALL_OF; i++) {
		char stack[64];

		snprintf(stack, sizeof(stack), "[%d]app;main;f%d", FIRST_PID + i / OF_PROCESS,
			 i % OF_PROCESS);
		add_stack(tree, stack, 1, 0);
	}
	assert_int_equal(frames_columns_make(&crowd.made, tree, TREE_ROOT, 1 << 20), 0);
	return crowd;
}

static inline void crowd_done(struct crowd *crowd)
{
	frames_columns_done(&crowd->made);
	buf_done(&crowd->selves);
}
#define _cleanup_crowd_ _cleanup_(crowd_done)

/* Adds a window; the weights are in preorder: the root, each process, its main, its functions. */
static inline void blend_crowd(struct blend *blend, struct crowd *crowd,
			       const uint64_t weights[ALL_OF])
{
	uint64_t ms = (uint64_t)(WINDOW_S * 1000);
	struct history_head head = {
		.windows = 1, .covered_ns = ms * 1000000, .squares_ms2 = ms * ms};
	struct history_payload payload = {.frames = crowd->made.frames, .nodes = crowd->made.nodes};

	crowd->selves.len = 0;
	write_self(&crowd->selves, 0);
	for (int i = 0; i < ALL_OF; i++) {
		for (int head_frames = i % OF_PROCESS ? 0 : 2; head_frames; head_frames--)
			write_self(&crowd->selves, 0);
		write_self(&crowd->selves, weights[i]);
	}
	for (int i = 0; i < FRAMES_COLUMNS; i++) {
		const struct buf *of =
			i == FRAMES_COLUMN_self ? &crowd->selves : &crowd->made.columns[i];

		payload.columns[i] = (struct frames_slice){of->data, of->len};
	}
	assert_int_equal(blend_add(blend, &head, &payload), 0);
}

/* Processes from 0.3 samples a second to 50; in each of them functions of 2 % to half of it. */
static inline double crowd_rate(int process, int function)
{
	return 50 * pow(2, -7.5 * ((process * 7) % PROCESSES) / PROCESSES) * pow(2, -1 - function);
}

static inline void blend_crowd_side(struct blend *blend, struct crowd *crowd,
				    const struct crowd_question *question, uint64_t *random)
{
	for (int i = 0; i < question->windows[blend->side]; i++) {
		uint64_t weights[ALL_OF];
		double burst = 1;

		for (int k = 0; k < ALL_OF; k++) {
			int process = k / OF_PROCESS, function = k % OF_PROCESS;
			double mean = WINDOW_S * crowd_rate(process, function);

			if (question->scale > 0)
				mean *= question->scale;
			if (question->begins && blend->side == HISTORY_BEFORE && i <= process)
				mean *= i < process ? 0 : draw_uniform(random);
			if (!function)
				burst = random_next(random) % 4 ? 1 : 10;
			if (blend->side == HISTORY_AFTER && question->slower > 0 &&
			    process == question->planted && function == 3)
				mean *= question->slower;
			weights[k] = (uint64_t)draw_weight(random, question->shape, mean, burst);
		}
		blend_crowd(blend, crowd, weights);
	}
}

/* Adds a process to windows that were added; it has no length of its own. */
static inline void blend_huge(const struct blend *blend, int windows)
{
	uint64_t weight = blend->side == HISTORY_BEFORE ? 1000 : 900000;

	for (int i = 0; i < windows; i++) {
		_cleanup_tree_ struct tree *tree = new_tree();
		struct blend alone = {
			.functions = blend->functions, .side = blend->side, .by_process = true};

		for (int k = 0; k < 200; k++) {
			char stack[64];

			snprintf(stack, sizeof(stack), "[99]huge;main;f%d", k);
			add_stack(tree, stack, weight + (uint64_t)(i + k), 0);
		}
		_cleanup_window_ struct made_window window =
			window_of(tree, BEGIN, (int64_t)WINDOW_S * SECOND);
		assert_int_equal(blend_window(&alone, &window), 0);
	}
}

/* Draws both sides and compares them. The caller ends what is found. */
static inline struct history_anomalies
compare_crowd(struct crowd *crowd, const struct crowd_question *question, uint64_t seed)
{
	struct functions *functions;
	struct history_span spans[HISTORY_SIDES];
	struct history_anomalies found;
	uint64_t random = random_next(&seed);

	assert_int_equal(functions_new(&functions), 0);
	for (int side = 0; side < HISTORY_SIDES; side++) {
		struct blend blend = {.functions = functions, .side = side, .by_process = true};

		blend_crowd_side(&blend, crowd, question, &random);
		if (question->huge)
			blend_huge(&blend, question->windows[side]);
		spans[side] = (struct history_span){
			.length = blend.length, .squares = blend.squares, .noise = question->noise};
	}
	for (size_t i = 0; question->huge == HUGE_LEFT_OUT && i < functions_count(functions); i++) {
		if (strcmp(functions_at(functions, i)->name, "[99]huge") == 0)
			functions_leave_out(functions, i);
	}
	assert_int_equal(history_anomalies_make(functions, spans, &found), 0);
	functions_free(functions);
	return found;
}
