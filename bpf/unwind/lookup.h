/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Look-up of an address: the mapping that holds it, and the row of its table (bpf/shared/packed.h).
 *
 * Functions that take a walk's level are global: the verifier checks each of them once, wherever
 * they are called.
 */
#pragma once

#include "bpf/unwind/unwind_env.h"
#include "bpf/unwind/vma.h"

#define SPAN_STEPS 13 /* binary search in SPANS_MAX spans, and one step more */
#define ROW_STEPS  10 /* binary search in BLOCK_BYTES rows, of which the head is one */

_Static_assert(1 << (SPAN_STEPS - 1) >= SPANS_MAX, "all spans are found");
_Static_assert(1 << ROW_STEPS >= BLOCK_BYTES, "all rows are found");

/* Return a word of the arena, and a span, in the chunk that holds them. A masked index needs no
 * proof. */
static __always_inline uint32_t word_at(const struct chunk *chunk, uint32_t word)
{
	return chunk->words[word & (CHUNK_WORDS - 1)];
}

static __always_inline const struct span *span_at(const struct chunk *chunk, uint32_t word)
{
	return (const struct span *)&chunk->words[word & (CHUNK_WORDS - SPAN_WORDS)];
}

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

/* Returns whether the span that an earlier walk found last holds the address, and makes it
 * walk->span: the leaves of a thread that computes often lie in one mapping. */
static __always_inline bool span_is_kept(struct walk *walk, uint64_t address)
{
	if (!walk->spans_number || walk->kept_number != walk->spans_number ||
	    !span_holds(&walk->kept, address))
		return false;
	walk->span = walk->kept;
	return true;
}

static __always_inline void span_keep(struct walk *walk)
{
	walk->kept = walk->span;
	walk->kept_number = walk->spans_number;
}

/* Finds the mapping among those that the daemon knows, and makes it walk->span. */
static __always_inline bool span_is_known(struct walk *walk, uint64_t address)
{
	const struct chunk *chunk = walk->spans_count ? chunk_of(walk->spans) : NULL;
	uint32_t low;

	if (!chunk)
		return false;
	BOUND(walk->low) = 0;
	BOUND(walk->high) = walk->spans_count;
	for (int i = 0; i < SPAN_STEPS; i++) { /* how many spans begin at or before the address */
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
		return false;
	walk->span = *span_at(chunk, walk->spans + (low - 1) * SPAN_WORDS);
	return span_holds(&walk->span, address);
}

/* Finds the mapping that holds the address, and makes it walk->span. Returns 0 if there is none. */
__noinline int span_search(uint32_t level, uint64_t address)
{
	struct walk *walk = walk_at(level);

	if (!walk)
		return 0;
	if (span_is_kept(walk, address))
		return 1;
	if (!span_is_known(walk, address))
		return vma_span(level, address);
	span_keep(walk);
	return 1;
}

static __always_inline bool span_find(struct walk *walk, uint64_t address)
{
	return span_holds(&walk->span, address) || span_search(walk->level, address);
}

/* Returns all ones if a <= b, else 0. Without a jump: the processor can't predict the jumps of a
 * search. */
static __always_inline uint32_t mask_if_not_above(uint64_t a, uint64_t b)
{
	uint64_t above = b - a;

	__asm__("" : "+r"(above)); /* else the compiler makes it a jump */
	return (above >> 63) - 1;
}

#define ROW_NONE (ROW_SPECIAL << ROW_KIND_SHIFT | SPECIAL_NONE)

/* Returns the row for an address in walk->span, without the row's own address; ROW_NONE: there is
 * none. */
__noinline uint32_t row_find(uint32_t level, uint64_t address)
{
	struct walk *walk = walk_at(level);
	const struct chunk *chunk;
	uint32_t index, at, in_block, count, step, low = 0;
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
	/* How many rows begin at or before the address. (The verifier would follow each way that
	 * known steps allow for the count.) */
	BOUND(walk->low) = 1U << (ROW_STEPS - 1);
	step = BOUND(walk->low) & ((1U << ROW_STEPS) - 1);
	for (uint32_t i = 0; i < ROW_STEPS; i++, step >>= 1) {
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

/* Reads rule `number` of the table, whose words may lie in two chunks. Returns false if there is no
 * such chunk. */
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

/* ---- cache of results for the next walks ---- */

/* Return the two places that an address may have. */
static __always_inline struct place *place_of(struct walk *walk, uint64_t address)
{
	return &walk->places[hash_word(0, address) >> 32 & (PLACES_KNOWN - 1)];
}

static __always_inline struct place *place_beside(struct walk *walk, uint64_t address)
{
	return &walk->places[hash_word(0, address) >> 40 & (PLACES_KNOWN - 1)];
}

/* Returns whether the row of an address is cached; then sets walk->row, and those fields of
 * walk->span that the row needs. Nothing else can be looked up in that span. */
static __always_inline bool place_is_known(struct walk *walk, uint64_t address)
{
	const struct place *place = place_of(walk, address);

	if (place->address != address)
		place = place_beside(walk, address);
	if (!walk->spans_number || place->number != walk->spans_number || place->address != address)
		return false;
	walk->span.start = walk->span.end = 0;
	walk->span.index = place->index;
	walk->span.what = place->what;
	walk->row = place->row;
	walk->row_known = 1;
	return true;
}

/* Caches the row of an address in walk->span, which has a table. Where another address has its
 * place, now that one goes and now the one in the other place: so addresses that come in each walk
 * find places where they don't meet. */
static __always_inline void place_learn(struct walk *walk, uint64_t address, uint32_t row)
{
	struct place *place = place_of(walk, address);

	if (place->number == walk->spans_number && walk->place_turn++ & 1)
		place = place_beside(walk, address);
	place->address = address;
	place->number = walk->spans_number;
	place->index = walk->span.index;
	place->what = walk->span.what;
	place->row = row;
}
