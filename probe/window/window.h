/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The stacks of the window that runs and of the one that is being read, until their counts come and
 * they are joined. Belongs to the loop's thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "bpf/shared/sample.h"

struct window;

/* `max_bytes` bounds the stacks of one window. -ENOMEM */
int window_new(struct window **ret, size_t max_stacks, size_t max_bytes);
void window_free(struct window *window);

/* Keeps a copy. 0, or -ENOSPC, -ENOMEM: its counts will find no stack and be lost. */
int window_add(struct window *window, const struct stack *stack, const uint64_t *words);

/* The same, of one that the window before had, in the window `number`. */
int window_carry(struct window *window, const struct stack *stack, uint64_t number);

/* How many stacks the window `number` has. */
size_t window_count(const struct window *window, uint64_t number);

/* How many bytes they take. */
size_t window_bytes(const struct window *window, uint64_t number);

/* NULL: unknown. Valid until window_clear(). */
const struct stack *window_find(const struct window *window, uint64_t number,
				const struct stack_key *key);
void window_each(const struct window *window, uint64_t number,
		 void (*each)(void *arg, const struct stack *stack, const uint64_t *words),
		 void *arg);

/* Forgets the window `number`. */
void window_clear(struct window *window, uint64_t number);
