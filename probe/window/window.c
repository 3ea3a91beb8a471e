// SPDX-License-Identifier: GPL-2.0-or-later
#include "window/window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/map.h"

/*
 * A window's stacks are in several maps, so that one that grows has few: to move all of 100,000 at
 * once takes 10 ms.
 */
#define MAPS_BITS 5
#define MAPS	  (1u << MAPS_BITS)

/* Two windows at most; a window's place is its number's parity. */
struct half {
	struct map *offsets[MAPS]; /* stack_key -> size_t, the stack's position in data */
	size_t count;
	struct buf data;
};

struct window {
	struct half halves[2];
	size_t max_stacks;
};

static int init_half(struct half *half, size_t max_stacks, size_t max_bytes)
{
	int r = 0;

	half->data = (struct buf)BUF_INIT(max_bytes);
	for (unsigned i = 0; r == 0 && i < MAPS; i++)
		r = map_new(&half->offsets[i], sizeof(struct stack_key), sizeof(size_t),
			    max_stacks);
	return r;
}

int window_new(struct window **ret, size_t max_stacks, size_t max_bytes)
{
	struct window *window = calloc(1, sizeof(*window));

	if (!window)
		return -ENOMEM;
	window->max_stacks = max_stacks;
	for (int i = 0; i < 2; i++) {
		int r = init_half(&window->halves[i], max_stacks, max_bytes);

		if (r < 0) {
			window_free(window);
			return r;
		}
	}
	*ret = window;
	return 0;
}

void window_free(struct window *window)
{
	if (!window)
		return;
	for (int i = 0; i < 2; i++) {
		for (unsigned m = 0; m < MAPS; m++)
			map_free(window->halves[i].offsets[m]);
		buf_done(&window->halves[i].data);
	}
	free(window);
}

static struct half *half_of(const struct window *window, uint64_t number)
{
	return (struct half *)&window->halves[number & 1];
}

static struct map *map_of(const struct half *half, const struct stack_key *key)
{
	return half->offsets[key->hash * UINT64_C(0x9e3779b97f4a7c15) >> (64 - MAPS_BITS)];
}

static int add_stack(const struct window *window, uint64_t number, const struct stack *stack,
		     const uint64_t *words)
{
	struct half *half = half_of(window, number);
	struct map *map = map_of(half, &stack->key);
	size_t at = half->data.len, *offset;

	if (half->count >= window->max_stacks)
		return map_get(map, &stack->key) ? 0 : -ENOSPC;
	int r = map_put(map, &stack->key, (void **)&offset);
	if (r <= 0) /* two CPUs may both send a new stack */
		return r;
	*offset = at;
	buf_add(&half->data, stack, sizeof(*stack));
	buf_add(&half->data, words, stack->words_count * sizeof(*words));
	r = half->data.error;
	if (r < 0) {
		map_del(map, &stack->key);
		half->data.len = at;
		half->data.error = 0;
		return r;
	}
	half->count++;
	return 0;
}

int window_add(struct window *window, const struct stack *stack, const uint64_t *words)
{
	return add_stack(window, stack->window, stack, words);
}

int window_carry(struct window *window, const struct stack *stack, uint64_t number)
{
	return add_stack(window, number, stack, (const uint64_t *)(stack + 1));
}

size_t window_count(const struct window *window, uint64_t number)
{
	return half_of(window, number)->count;
}

size_t window_bytes(const struct window *window, uint64_t number)
{
	return half_of(window, number)->data.len;
}

const struct stack *window_find(const struct window *window, uint64_t number,
				const struct stack_key *key)
{
	const struct half *half = half_of(window, number);
	const size_t *offset = map_get(map_of(half, key), key);

	return offset ? (const struct stack *)(const void *)(half->data.data + *offset) : NULL;
}

bool window_some(const struct window *window, uint64_t number, size_t *at, size_t words,
		 void (*each)(void *arg, const struct stack *stack, const uint64_t *words),
		 void *arg)
{
	const struct half *half = half_of(window, number);
	size_t limit = half->data.len;

	if (words < (limit - *at) / sizeof(uint64_t) && *at < limit)
		limit = *at + words * sizeof(uint64_t);
	while (*at < limit) {
		const struct stack *stack = (const void *)(half->data.data + *at);

		*at += sizeof(*stack) + stack->words_count * sizeof(uint64_t);
		each(arg, stack, (const uint64_t *)(stack + 1));
	}
	return *at < half->data.len;
}

void window_clear(struct window *window, uint64_t number)
{
	struct half *half = half_of(window, number);

	for (unsigned i = 0; i < MAPS; i++)
		map_clear(half->offsets[i]);
	half->count = 0;
	buf_done(&half->data);
}
