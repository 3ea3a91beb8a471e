/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One pass over sorted stacks that finds every frame with its weight. */
#pragma once

#include "output/svg/stacks.h"

/*
 * A frame, its only child, and so on: frames of equal weight, one above the other. Their names lie
 * from `begin` to `end` in the text, with `;` between them.
 */
struct stacks_chain {
	const char *text; /* of the whole stack, from the root on */
	const char *begin, *end;
	uint32_t depth;		 /* of the first frame; 1: the root is its parent */
	uint64_t offset, weight; /* of `after`: left edge and width, as weights */
	uint64_t own[2];	 /* by side: weight of the stacks that end at the last frame */
	bool leaves_out;	 /* some children of the last frame are too light */
};

/*
 * Compares neighbours; to be called between stacks_sort() and stacks_walk(). Returns the largest
 * difference between the two sides of one stack.
 */
uint64_t stacks_link(struct stacks *stacks);

/* Returns whether a difference is of weights by time. */
bool stacks_are_by_time(const struct stacks *stacks);

/* Return a weight of `before` as a difference counts it, scaled to the total or to the time of
 * `after`; and what weights are multiplied with, 0: they stay as they are. */
uint64_t stacks_before(const struct stacks *stacks, uint64_t weight);
double stacks_scale(const struct stacks *stacks);

/* Returns how many frames a chain has. */
uint32_t stacks_chain_frames(const struct stacks_chain *chain);

/*
 * Calls chain() for all frames with a weight of at least `least` (0: also those that only `before`
 * has), a child before its parent. chain() returns false to stop the walk. Returns 0 (also when
 * stopped), or -ENOMEM.
 */
int stacks_walk(const struct stacks *stacks, uint64_t least,
		bool (*chain)(void *arg, const struct stacks_chain *chain), void *arg);
