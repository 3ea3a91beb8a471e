// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An order of a batch's stacks in which those with the same callers follow one another: then most
 * of a stack's nodes in a tree are those of the stack before, and the others are near. Stacks come
 * in the order of a hash map, which is none.
 */
#include "window/batch_state.h"

#include <stdlib.h>

#define FEW 512 /* stacks; the caches hold what these need */

/* How many frames from the root are compared, by level: 16 bits of a hash each. */
static const uint32_t level_frames[] = {4, 8, 12, 16, 20, 28, 44, 76};
#define LEVELS ARRAY_SIZE(level_frames)

/* Equal levels from the left: equal callers, but for chance, which costs time only. */
struct placed_stack {
	uint16_t levels[LEVELS];
	struct batch_entry entry;
};

static int compare_placed(const void *a, const void *b)
{
	const struct placed_stack *left = a, *right = b;

	for (size_t i = 0; i < LEVELS; i++) {
		if (left->levels[i] != right->levels[i])
			return left->levels[i] < right->levels[i] ? -1 : 1;
	}
	return 0;
}

static uint64_t mix_word(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 32;
}

static void set_levels(struct placed_stack *placed, const struct batch_stack *stack,
		       const struct merged *frames)
{
	uint64_t hash = mix_word(mix_word(stack->key.tgid, stack->tid), stack->key.probe);
	uint32_t at = 0;

	for (size_t i = 0; i < LEVELS; i++) {
		for (; at < level_frames[i] && at < stack->frames_count; at++)
			hash = mix_word(hash, frames[stack->frames_count - 1 - at].frame);
		placed->levels[i] = (uint16_t)(hash >> 16);
	}
}

static void sort_entries(struct batch_entry *entries, size_t count, const struct batch *batch)
{
	struct placed_stack *placed = count > FEW ? malloc(count * sizeof(*placed)) : NULL;

	if (!placed)
		return; /* no memory: any order will do */
	for (size_t i = 0; i < count; i++) {
		placed[i].entry = entries[i];
		set_levels(&placed[i], &batch->stacks[entries[i].stack],
			   batch->frames + entries[i].frames);
	}
	qsort(placed, count, sizeof(*placed), compare_placed);
	for (size_t i = 0; i < count; i++)
		entries[i] = placed[i].entry;
	free(placed);
}

struct batch_entry *batch_order(const struct batch *batch)
{
	struct batch_entry *entries = malloc((batch->count + 1) * sizeof(*entries));
	size_t frames = 0;

	if (!entries)
		return NULL;
	for (size_t i = 0; i < batch->count; i++) {
		entries[i] = (struct batch_entry){(uint32_t)i, frames};
		frames += batch->stacks[i].frames_count;
	}
	sort_entries(entries, batch->count, batch);
	return entries;
}
