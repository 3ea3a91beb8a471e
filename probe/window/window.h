/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks of the current window and of the one that is being read, until their counts come. Loop
 * thread only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/shared/sample.h"

struct window;

/*
 * Creates it; the caller owns *ret. `max_bytes` limits the stacks of one window. Returns 0 or
 * -ENOMEM.
 */
int window_new(struct window **ret, size_t max_stacks, size_t max_bytes);
void window_free(struct window *window);

/*
 * Adds a copy. Returns 0, or -ENOSPC or -ENOMEM: the stack's counts will find no stack and be lost.
 */
int window_add(struct window *window, const struct stack *stack, const uint64_t *words);

/* Like window_add(), for a stack of the window before, in the window `number`. */
int window_carry(struct window *window, const struct stack *stack, uint64_t number);

/* Returns how many stacks the window `number` has. */
size_t window_count(const struct window *window, uint64_t number);

/* Returns how many bytes these take. */
size_t window_bytes(const struct window *window, uint64_t number);

/* Returns the stack, its words behind it, valid until window_clear(); NULL: unknown. */
const struct stack *window_find(const struct window *window, uint64_t number,
				const struct stack_key *key);

/*
 * Calls each() for the stacks from the position *at on (0: the first) until they have `words` words
 * or there are no more, and sets *at behind them. Returns whether there are more. Between two calls
 * stacks may be added.
 */
bool window_some(const struct window *window, uint64_t number, size_t *at, size_t words,
		 void (*each)(void *arg, const struct stack *stack, const uint64_t *words),
		 void *arg);

/* Forgets the stacks of the window `number`. */
void window_clear(struct window *window, uint64_t number);
