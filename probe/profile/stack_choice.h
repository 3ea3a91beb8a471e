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

/* The same as somebody asks for it; numbers below 0: STACK_WISH_NONE, or no numbers. */
struct stack_wish {
	long long min, max, top;
	const char *sort; /* "name", "value"; NULL: as the choice has it */
};
#define STACK_WISH_NONE (-1)
#define STACK_TOP_MAX	1000000

/*
 * Makes the choice that is asked for, for an output in that format. Returns NULL, or what is wrong,
 * a sentence; `choice` is untouched then.
 */
const char *stack_choice_make(struct stack_choice *choice, const struct stack_wish *wish,
			      const struct output *output);

/* Returns whether something is left out. */
bool stack_choice_chooses(const struct stack_choice *choice);

/*
 * Copies the stacks that are chosen; of equal ones at the end of the largest those that come first
 * in the tree. The copy's weight and events are those of what it has. Returns 0, -ENOMEM or
 * -ENOSPC.
 */
int profile_choose(struct profile **ret, const struct profile *from,
		   const struct stack_choice *choice);
