// SPDX-License-Identifier: GPL-2.0-or-later
#include "window/window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/map.h"

/* Two windows at most; a window's place is its number's parity. */
struct half {
	struct map *offsets; /* stack_key -> size_t, the stack's position in data */
	struct buf data;
};

struct window {
	struct half halves[2];
};

int window_new(struct window **ret, size_t max_stacks, size_t max_bytes)
{
	struct window *window = calloc(1, sizeof(*window));

	if (!window)
		return -ENOMEM;
	for (int i = 0; i < 2; i++) {
		struct half *half = &window->halves[i];
		int r = map_new(&half->offsets, sizeof(struct stack_key), sizeof(size_t),
				max_stacks);

		if (r < 0) {
			window_free(window);
			return r;
		}
		half->data = (struct buf)BUF_INIT(max_bytes);
	}
	*ret = window;
	return 0;
}

void window_free(struct window *window)
{
	if (!window)
		return;
	for (int i = 0; i < 2; i++) {
		map_free(window->halves[i].offsets);
		buf_done(&window->halves[i].data);
	}
	free(window);
}

static struct half *half_of(const struct window *window, uint64_t number)
{
	return (struct half *)&window->halves[number & 1];
}

static int add_stack(struct half *half, const struct stack *stack, const uint64_t *words)
{
	size_t at = half->data.len, *offset;
	int r = map_put(half->offsets, &stack->key, (void **)&offset);

	if (r <= 0) /* two CPUs may both send a new stack */
		return r;
	*offset = at;
	buf_add(&half->data, stack, sizeof(*stack));
	buf_add(&half->data, words, stack->words_count * sizeof(*words));
	r = half->data.error;
	if (r < 0) {
		map_del(half->offsets, &stack->key);
		half->data.len = at;
		half->data.error = 0;
	}
	return r;
}

int window_add(struct window *window, const struct stack *stack, const uint64_t *words)
{
	return add_stack(half_of(window, stack->window), stack, words);
}

int window_carry(struct window *window, const struct stack *stack, uint64_t number)
{
	return add_stack(half_of(window, number), stack, (const uint64_t *)(stack + 1));
}

size_t window_count(const struct window *window, uint64_t number)
{
	return map_count(half_of(window, number)->offsets);
}

size_t window_bytes(const struct window *window, uint64_t number)
{
	return half_of(window, number)->data.len;
}

const struct stack *window_find(const struct window *window, uint64_t number,
				const struct stack_key *key)
{
	const struct half *half = half_of(window, number);
	const size_t *offset = map_get(half->offsets, key);

	return offset ? (const struct stack *)(const void *)(half->data.data + *offset) : NULL;
}

void window_each(const struct window *window, uint64_t number,
		 void (*each)(void *arg, const struct stack *stack, const uint64_t *words),
		 void *arg)
{
	const struct half *half = half_of(window, number);

	for (size_t at = 0; at < half->data.len;) {
		const struct stack *stack = (const void *)(half->data.data + at);

		each(arg, stack, (const uint64_t *)(stack + 1));
		at += sizeof(*stack) + stack->words_count * sizeof(uint64_t);
	}
}

void window_clear(struct window *window, uint64_t number)
{
	struct half *half = half_of(window, number);

	map_clear(half->offsets);
	buf_done(&half->data);
}
