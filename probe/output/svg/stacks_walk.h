/* SPDX-License-Identifier: GPL-2.0-only */
/* One pass over sorted stacks that finds every frame with its weight. */
#pragma once

#include "output/svg/stacks.h"

/*
 * Frames that carry one another and are equally heavy: the names are `begin` to `end` of the text
 * with `;` between them.
 */
struct stacks_chain {
	const char *begin, *end;
	uint32_t depth;		 /* of the first; 1 stands on the root */
	uint64_t offset, weight; /* of `after`: where they begin, and what lies on them */
	uint64_t own[2];	 /* of each side: weight of the stacks that end at the last one */
};

/*
 * After sorting, before walking: compares neighbours. Returns the largest difference between the
 * sides that a stack has.
 */
uint64_t stacks_link(struct stacks *stacks);

/* What a weight of `before` counts in a difference. */
uint64_t stacks_before(const struct stacks *stacks, uint64_t weight);

/* How many frames a chain has. */
uint32_t stacks_chain_frames(const struct stacks_chain *chain);

/*
 * Calls chain() for the frames with a weight of at least `least` (1 or more), in the order in which
 * they end: those above before those below. It returns false to stop. -ENOMEM.
 */
int stacks_walk(const struct stacks *stacks, uint64_t least,
		bool (*chain)(void *arg, const struct stacks_chain *chain), void *arg);
