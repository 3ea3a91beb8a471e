/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Windows of 40 functions whose weights are drawn from distributions, and two ranges of them
 * compared. The numbers are the same in every run. */
#pragma once

#include "history/history_changes.h"
#include "unit/history/history_scene.h"

#define CALLERS	 5
#define CALLED	 8
#define LEAVES	 (CALLERS * CALLED)
#define WINDOW_S 30.0
#define SLOW	 20 /* the function that is made slower: of 30 samples a second */

/* ---- distributions ---- */

static inline double draw_uniform(uint64_t *random)
{
	return ((double)(random_next(random) >> 11) + 0.5) * 0x1p-53;
}

static inline double draw_normal(uint64_t *random)
{
	double radius = sqrt(-2 * log(draw_uniform(random)));

	return radius * cos(2 * M_PI * draw_uniform(random));
}

/* Of a shape k and mean 1. Source: Marsaglia and Tsang, 2000. */
static inline double draw_gamma(uint64_t *random, double shape)
{
	if (shape < 1)
		return draw_gamma(random, shape + 1) * (shape + 1) / shape *
		       pow(draw_uniform(random), 1 / shape);
	double d = shape - 1 / 3.0, c = 1 / sqrt(9 * d);
	for (;;) {
		double x = draw_normal(random), v = 1 + c * x;

		v = v * v * v;
		if (v > 0 && log(draw_uniform(random)) < 0.5 * x * x + d - d * v + d * log(v))
			return d * v / shape;
	}
}

/* Source: Hoermann's PTRS, 1993; few are counted one by one. */
static inline double draw_poisson(uint64_t *random, double mean)
{
	if (mean < 10) {
		double product = draw_uniform(random), count = 0;

		for (double end = exp(-mean); product > end; count++)
			product *= draw_uniform(random);
		return count;
	}
	double b = 0.931 + 2.53 * sqrt(mean), a = -0.059 + 0.02483 * b;
	for (;;) {
		double u = draw_uniform(random) - 0.5, v = draw_uniform(random);
		double us = 0.5 - fabs(u), k = floor((2 * a / us + b) * u + mean + 0.43);

		if (us >= 0.07 && v <= 0.9277 - 3.6224 / (b - 2))
			return k;
		if (k < 0 || (us < 0.013 && v > us))
			continue;
		if (log(v) + log(1.1239 + 1.1328 / (b - 3.4)) - log(a / (us * us) + b) <=
		    k * log(mean) - mean - lgamma(k + 1))
			return k;
	}
}

/* ---- windows ---- */

enum rate_shape {
	RATE_COUNTED,	/* Poisson */
	RATE_UNEVEN,	/* Poisson of a rate that varies by a tenth from window to window */
	RATE_GAMMA,	/* weights, of shape 2 */
	RATE_RARE,	/* weights, of shape 1/4: most of it in few windows */
	RATE_LOGNORMAL, /* weights, sigma 1 */
	RATE_BURSTS	/* a window in four has ten times as much of all functions */
};

struct rate_question {
	enum rate_shape shape;
	int windows[HISTORY_SIDES];
	bool uneven_lengths;  /* of 3 s to 30 s */
	double noise, slower; /* of function SLOW, after */
};

/* Columns whose weights are written anew for each window. */
struct rate_columns {
	struct frames_columns made;
	struct buf selves;
};

static inline struct rate_columns rate_columns_new(void)
{
	_cleanup_tree_ struct tree *tree = new_tree();
	struct rate_columns columns = {.selves = BUF_INIT(1 << 16)};

	for (int i = 0; i < LEAVES; i++) {
		char stack[64];

		snprintf(stack, sizeof(stack), "[7]app;main;g%d;f%02d", i / CALLED, i);
		add_stack(tree, stack, 1, 0);
	}
	assert_int_equal(frames_columns_make(&columns.made, tree, TREE_ROOT, 1 << 16), 0);
	return columns;
}

static inline void rate_columns_done(struct rate_columns *columns)
{
	frames_columns_done(&columns->made);
	buf_done(&columns->selves);
}
#define _cleanup_rates_ _cleanup_(rate_columns_done)

static inline void write_self(struct buf *selves, uint64_t weight)
{
	for (; weight >= 128; weight >>= 7)
		buf_char(selves, (char)(weight | 128));
	buf_char(selves, (char)weight);
}

/* Writes weights in preorder: the root, the process, main, each caller before its functions. */
static inline void write_selves(struct rate_columns *columns, const uint64_t weights[LEAVES])
{
	columns->selves.len = 0;
	for (int i = 0; i < 3; i++)
		write_self(&columns->selves, 0);
	for (int i = 0; i < LEAVES; i++) {
		if (i % CALLED == 0)
			write_self(&columns->selves, 0);
		write_self(&columns->selves, weights[i]);
	}
}

static inline void blend_rates(struct blend *blend, struct rate_columns *columns,
			       const uint64_t weights[LEAVES], double seconds)
{
	uint64_t ms = (uint64_t)llround(seconds * 1000);
	struct history_head head = {
		.windows = 1, .covered_ns = ms * 1000000, .squares_ms2 = ms * ms};
	struct history_payload payload = {.frames = columns->made.frames,
					  .nodes = columns->made.nodes};

	write_selves(columns, weights);
	for (int i = 0; i < FRAMES_COLUMNS; i++) {
		const struct buf *of =
			i == FRAMES_COLUMN_self ? &columns->selves : &columns->made.columns[i];

		payload.columns[i] = (struct frames_slice){of->data, of->len};
	}
	assert_int_equal(blend_add(blend, &head, &payload), 0);
}

/* Functions from 1 sample in a minute to 30 a second; SLOW is one of the latter. */
static inline double rate_of(int function)
{
	return 30 * pow(2, -0.5 * ((function + LEAVES - SLOW) % LEAVES) / 2.0);
}

static inline double draw_weight(uint64_t *random, enum rate_shape shape, double mean, double burst)
{
	switch (shape) {
	case RATE_UNEVEN:
		return draw_poisson(random, mean * draw_gamma(random, 100));
	case RATE_GAMMA:
		return floor(1e6 * mean * draw_gamma(random, 2));
	case RATE_RARE:
		return floor(1e6 * mean * draw_gamma(random, 0.25));
	case RATE_LOGNORMAL:
		return floor(1e6 * mean * exp(draw_normal(random)));
	case RATE_BURSTS:
		return floor(1e6 * mean * burst * draw_gamma(random, 20));
	default:
		return draw_poisson(random, mean);
	}
}

static inline void blend_drawn_side(struct blend *blend, struct rate_columns *columns,
				    const struct rate_question *question, uint64_t *random)
{
	bool is_after = blend->side == HISTORY_AFTER;

	for (int i = 0; i < question->windows[blend->side]; i++) {
		double seconds =
			question->uneven_lengths ? 3 + 27 * draw_uniform(random) : WINDOW_S;
		double burst = random_next(random) % 4 ? 1 : 10;
		uint64_t weights[LEAVES];

		for (int k = 0; k < LEAVES; k++) {
			double slower = is_after && k == SLOW ? question->slower : 1;

			weights[k] = (uint64_t)draw_weight(random, question->shape,
							   rate_of(k) * seconds * slower, burst);
		}
		blend_rates(blend, columns, weights, seconds);
	}
}

/* Draws both sides and compares them. Returns the number of changes, which the caller frees. */
static inline size_t compare_drawn(struct rate_columns *columns,
				   const struct rate_question *question, uint64_t seed,
				   struct history_change **changes)
{
	struct functions *functions;
	struct history_span spans[HISTORY_SIDES];
	uint64_t random = random_next(&seed); /* streams of two seeds have nothing in common */

	assert_int_equal(functions_new(&functions), 0);
	for (int side = 0; side < HISTORY_SIDES; side++) {
		struct blend blend = {.functions = functions, .side = side};

		blend_drawn_side(&blend, columns, question, &random);
		spans[side] = (struct history_span){
			.length = blend.length, .squares = blend.squares, .noise = question->noise};
	}
	int64_t count = history_changes(functions, spans, 1000, changes);
	assert_true(count >= 0);
	functions_free(functions);
	return (size_t)count;
}

/* Returns in how many of the comparisons there is any change. */
static inline int count_changed(const struct rate_question *question, int comparisons)
{
	_cleanup_rates_ struct rate_columns columns = rate_columns_new();
	int changed = 0;

	for (int seed = 1; seed <= comparisons; seed++) {
		struct history_change *changes;
		size_t count = compare_drawn(&columns, question, (uint64_t)seed, &changes);

		changed += count > 0;
		history_changes_free(changes, count);
	}
	return changed;
}
