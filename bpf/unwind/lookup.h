/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Looks up an address: the mapping that holds it, the row of its table (bpf/shared/packed.h).
 *
 * Functions that take a walk's level are global ones: the verifier looks at each of them once,
 * wherever they are called.
 */
#pragma once

#include "bpf/unwind/reach.h"

#define SPAN_STEPS 13 /* binary search among SPANS_MAX, and one */
#define ROW_STEPS  11 /* among BLOCK_BYTES rows */

_Static_assert(1 << (SPAN_STEPS - 1) >= SPANS_MAX, "all spans are found");
_Static_assert(1 << (ROW_STEPS - 1) >= BLOCK_BYTES, "all rows are found");

/* A word of the arena, and spans, in the chunk that holds them: what a mask keeps inside needs no
 * proof. */
static __always_inline uint32_t word_at(const struct chunk *chunk, uint32_t word)
{
	return chunk->words[word & (CHUNK_WORDS - 1)];
}

static __always_inline const struct span *span_at(const struct chunk *chunk, uint32_t word)
{
	return (const struct span *)&chunk->words[word & (CHUNK_WORDS - SPAN_WORDS)];
}

/* The bounds of a search are kept in the walk's memory, of which the verifier knows nothing: else
 * it would follow each way that they may go. */
#define BOUND(bound) (*(volatile uint32_t *)&(bound))

static __always_inline bool span_holds(const struct span *span, uint64_t address)
{
	return address - span->start < span->end - span->start;
}

static __always_inline uint32_t span_kind(const struct span *span)
{
	return span->what >> SPAN_KIND_SHIFT & SPAN_KIND_MASK;
}

int span_search(uint32_t level, uint64_t address);
uint32_t row_find(uint32_t level, uint64_t address);

/* Makes walk->span the mapping that holds the address; 0: none does. */
__noinline int span_search(uint32_t level, uint64_t address)
{
	struct walk *walk = walk_at(level);
	const struct chunk *chunk;
	uint32_t low;

	if (!walk)
		return 0;
	chunk = walk->spans_count ? chunk_of(walk->spans) : NULL;
	if (!chunk)
		return 0;
	BOUND(walk->low) = 0;
	BOUND(walk->high) = walk->spans_count;
	for (int i = 0; i < SPAN_STEPS; i++) { /* how many begin at or before the address */
		uint32_t high = BOUND(walk->high), middle;

		low = BOUND(walk->low);
		if (low >= high)
			break;
		middle = (low + high) / 2;
		if (span_at(chunk, walk->spans + middle * SPAN_WORDS)->start <= address)
			BOUND(walk->low) = middle + 1;
		else
			BOUND(walk->high) = middle;
	}
	low = BOUND(walk->low);
	if (!low)
		return 0;
	walk->span = *span_at(chunk, walk->spans + (low - 1) * SPAN_WORDS);
	return span_holds(&walk->span, address);
}

static __always_inline bool span_find(struct walk *walk, uint64_t address)
{
	return span_holds(&walk->span, address) || span_search(walk->level, address);
}

/* All ones where a is at most b, else 0. Without a jump: a search's can't be foretold. */
static __always_inline uint32_t mask_if_not_above(uint64_t a, uint64_t b)
{
	uint64_t above = b - a;

	__asm__("" : "+r"(above)); /* or the compiler makes it a jump */
	return (above >> 63) - 1;
}

#define ROW_NONE (ROW_SPECIAL << ROW_KIND_SHIFT | SPECIAL_NONE)

/* The row for an address in walk->span, without its own address; ROW_NONE: there is none. */
__noinline uint32_t row_find(uint32_t level, uint64_t address)
{
	struct walk *walk = walk_at(level);
	const struct chunk *chunk;
	uint32_t index, at, in_block, count, low = 0;
	uint64_t offset, block;

	if (!walk)
		return ROW_NONE;
	offset = address - walk->span.base;
	block = offset >> BLOCK_SHIFT;
	if (block >= (walk->span.what & TABLE_BLOCKS_MAX))
		return ROW_NONE;
	index = walk->span.index + block;
	chunk = chunk_of(index);
	at = chunk ? word_at(chunk, index) : 0;
	if (!at)
		return ROW_NONE;
	at += walk->span.index;
	chunk = chunk_of(at);
	if (!chunk)
		return ROW_NONE;
	in_block = offset & (BLOCK_BYTES - 1);
	count = word_at(chunk, at) >> ROW_ADDRESS_SHIFT;
	/* How many rows begin at or before the address. */
	for (uint32_t step = 1U << (ROW_STEPS - 1); step; step >>= 1) {
		uint32_t next = low + step;

		if (step > count)
			continue;
		low += step & mask_if_not_above(next, count) &
		       mask_if_not_above(word_at(chunk, at + next) >> ROW_ADDRESS_SHIFT, in_block);
	}
	return word_at(chunk, at + low) & ((1U << ROW_ADDRESS_SHIFT) - 1);
}

static __always_inline bool row_is_cfi(uint32_t row)
{
	uint32_t what = row & ROW_SPECIAL_MASK;

	return row >> ROW_KIND_SHIFT != ROW_SPECIAL ||
	       (what != SPECIAL_NONE && what != SPECIAL_FRAMES);
}

/* Rule `number` of the table. Its words may lie in two chunks. */
static __always_inline bool rule_read(const struct span *span, uint32_t number,
				      struct table_rule *rule)
{
	uint32_t *to = (uint32_t *)rule, first = span->index - (number + 1) * RULE_WORDS;

	for (uint32_t i = 0; i < RULE_WORDS; i++) {
		const struct chunk *chunk = chunk_of(first + i);

		if (!chunk)
			return false;
		to[i] = word_at(chunk, first + i);
	}
	return true;
}

/* ---- what was found is known for the next walks ---- */

static __always_inline struct place *place_of(struct walk *walk, uint64_t address)
{
	return &walk->places[hash_word(0, address) >> 32 & (PLACES_KNOWN - 1)];
}

/* Whether the address' row is known: makes it walk->row, and walk->span what is needed of its
 * mapping, which isn't enough to look up anything else there. */
static __always_inline bool place_is_known(struct walk *walk, uint64_t address)
{
	const struct place *place = place_of(walk, address);

	if (!walk->spans_number || place->number != walk->spans_number || place->address != address)
		return false;
	walk->span.start = walk->span.end = 0;
	walk->span.index = place->index;
	walk->span.what = place->what;
	walk->row = place->row;
	walk->row_known = 1;
	return true;
}

/* The row of an address in walk->span, a table's, is known from now on. */
static __always_inline void place_learn(struct walk *walk, uint64_t address, uint32_t row)
{
	struct place *place = place_of(walk, address);

	place->address = address;
	place->number = walk->spans_number;
	place->index = walk->span.index;
	place->what = walk->span.what;
	place->row = row;
}
