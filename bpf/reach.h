/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the unwinder reaches outside itself: walks' buffers, the arena, user memory. Natively they
 * are a recorded image's (test/unwind/replay.c); then this is all that differs.
 *
 * A walk owns its buffer: one for each nesting level (task, interrupt, NMI) of a CPU, taken and
 * given back by a flag. Programs on one CPU nest like brackets, so a plain flag will do: whoever
 * interrupts between a look at the flag and its setting has given the buffer back on return.
 */
#pragma once

#include "walk.h"

#ifdef __bpf__

#include "maps.h"

#define WALK_LEVELS 3

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, WALK_LEVELS);
	__type(key, uint32_t);
	__type(value, struct walk);
} walks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, WALK_LEVELS *MEMO_SLOTS);
	__type(key, uint32_t);
	__type(value, struct memo);
} memos SEC(".maps");

static __always_inline struct walk *walk_at(uint32_t level)
{
	return bpf_map_lookup_elem(&walks, &level);
}

static __always_inline struct memo *memo_at(uint32_t number)
{
	return bpf_map_lookup_elem(&memos, &number);
}

/* The chunk that holds a word of the arena. */
static __always_inline const struct chunk *chunk_of(uint32_t word)
{
	uint32_t number = word >> CHUNK_WORDS_SHIFT, zero = 0;
	void *chunk = bpf_map_lookup_elem(&arena, &number);

	return chunk ? bpf_map_lookup_elem(chunk, &zero) : NULL;
}

static __always_inline long read_user(void *to, uint32_t bytes, uint64_t from)
{
	return bpf_probe_read_user(to, bytes, (const void *)from);
}

/* The level whose buffer was taken, or a negative number: all are, and a sample of that `weight` is
 * lost. */
static __always_inline int walk_take(uint64_t weight)
{
	for (int level = 0; level < WALK_LEVELS; level++) {
		struct walk *walk = walk_at(level);

		if (walk && !walk->busy) {
			walk->busy = 1;
			return level;
		}
	}
	count_loss(LOST_WALK_BUSY, weight);
	return -1;
}

static __always_inline void walk_give_back(struct walk *walk)
{
	walk->busy = 0;
}

#else

#include <stddef.h>

#define __noinline __attribute__((noinline))

struct walk *walk_at(uint32_t level);
struct memo *memo_at(uint32_t number);
const struct chunk *chunk_of(uint32_t word);
long read_user(void *to, uint32_t bytes, uint64_t from);

#endif
