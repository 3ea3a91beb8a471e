/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which stacks of a profile are shown, by their value: those within bounds, the largest ones. A
 * stack's value is the weight of its node, of all threads together.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "profile/profile.h"

struct stack_choice {
	uint64_t min, max; /* bounds of the value, both included; max 0: none */
	uint64_t top;	   /* so many of the largest; 0: all */
	bool by_value;	   /* text has the largest first */
};

/* Returns whether something is left out. */
bool stack_choice_chooses(const struct stack_choice *choice);

/*
 * Copies the stacks that are chosen; of equal ones at the end of the largest those that come first
 * in the tree. The copy's weight and events are those of what it has. Returns 0, -ENOMEM or
 * -ENOSPC.
 */
int profile_choose(struct profile **ret, const struct profile *from,
		   const struct stack_choice *choice);
