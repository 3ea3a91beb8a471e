/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A walk owns its buffer: one for each nesting level (task, interrupt, NMI) of a CPU, taken and
 * given back by a flag. Programs on one CPU nest like brackets, so a plain flag will do: whoever
 * interrupts between a look at the flag and its setting has given the buffer back on return.
 */
#pragma once

#include "maps.h"

#define WALK_LEVELS 3

struct walk {
	uint32_t busy;
	uint32_t pad;
	uint64_t sp, fp; /* the user frame that the walk has come to */
	uint64_t kernel[KERNEL_FRAMES_MAX + 1];
	struct stack head;
	uint64_t words[WORDS_MAX]; /* right behind head: sent as one record */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, WALK_LEVELS);
	__type(key, uint32_t);
	__type(value, struct walk);
} walks SEC(".maps");

/* `weight`: of the sample, which is lost when all are taken. */
static __always_inline struct walk *walk_take(uint64_t weight)
{
	for (int level = 0; level < WALK_LEVELS; level++) {
		uint32_t key = level;
		struct walk *walk = bpf_map_lookup_elem(&walks, &key);

		if (walk && !walk->busy) {
			walk->busy = 1;
			return walk;
		}
	}
	count_loss(LOST_WALK_BUSY, weight);
	return NULL;
}

static __always_inline void walk_give_back(struct walk *walk)
{
	walk->busy = 0;
}

/* MurmurHash3's mixing of one word, by Austin Appleby (public domain algorithm). */
static __always_inline uint64_t hash_word(uint64_t hash, uint64_t word)
{
	word *= 0x87c37b91114253d5ULL;
	word = word << 31 | word >> 33;
	word *= 0x4cf5ad432745937fULL;
	hash ^= word;
	hash = hash << 27 | hash >> 37;
	return hash * 5 + 0x52dce729;
}

/* False when the buffer is full. */
static __always_inline bool walk_push(struct walk *walk, enum frame_kind kind, uint64_t address)
{
	uint32_t n = walk->head.words_count;
	uint64_t word = (uint64_t)kind << FRAME_KIND_SHIFT | (address & FRAME_ADDRESS);

	if (n >= WORDS_MAX)
		return false;
	walk->words[n] = word;
	walk->head.words_count = n + 1;
	walk->head.key.hash = hash_word(walk->head.key.hash, word);
	return true;
}
