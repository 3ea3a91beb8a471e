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
		spans[side] = (struct history_span){
			.length = blend.length, .squares = blend.squares, .noise = question->noise};
	}
	assert_int_equal(history_anomalies_make(functions, spans, 20000, &found), 0);
	functions_free(functions);
	return found;
}
