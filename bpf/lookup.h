/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Looks up an address: the mapping that holds it, the row of its table (bpf/packed.h).
 *
 * Functions that take a walk's level are global ones: the verifier looks at each of them once,
 * wherever they are called.
 */
#pragma once

#include "reach.h"

#define SPAN_STEPS 13 /* binary search among SPANS_MAX, and one */
#define ROW_STEPS  11 /* among BLOCK_BYTES rows */

_Static_assert(1 << (SPAN_STEPS - 1) >= SPANS_MAX, "all spans are found");
_Static_assert(1 << (ROW_STEPS - 1) >= BLOCK_BYTES, "all rows are found");

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
	uint32_t low = 0, high, at;

	if (!walk)
		return 0;
	high = walk->spans_count;
	at = walk->spans & (CHUNK_WORDS - 1);
	chunk = high ? chunk_of(walk->spans) : NULL;
	if (!chunk)
		return 0;
	for (int i = 0; i < SPAN_STEPS; i++) { /* how many begin at or before the address */
		uint32_t middle = (low + high) / 2, word = at + middle * SPAN_WORDS;

		if (low >= high)
			break;
		if (word > CHUNK_WORDS - SPAN_WORDS)
			return 0;
		if (((const struct span *)&chunk->words[word])->start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	at += (low - 1) * SPAN_WORDS;
	if (!low || at > CHUNK_WORDS - SPAN_WORDS)
		return 0;
	walk->span = *(const struct span *)&chunk->words[at];
	return span_holds(&walk->span, address);
}

static __always_inline bool span_find(struct walk *walk, uint64_t address)
{
	return span_holds(&walk->span, address) || span_search(walk->level, address);
}

#define ROW_NONE (ROW_SPECIAL << ROW_KIND_SHIFT | SPECIAL_NONE)

/* The row for an address in walk->span, without its own address; ROW_NONE: there is none. */
__noinline uint32_t row_find(uint32_t level, uint64_t address)
{
	const struct walk *walk = walk_at(level);
	const struct chunk *chunk;
	uint32_t index, at, in_block, low = 0, high;
	uint64_t offset, block;

	if (!walk)
		return ROW_NONE;
	offset = address - walk->span.base;
	block = offset >> BLOCK_SHIFT;
	if (block >= (walk->span.what & TABLE_BLOCKS_MAX))
		return ROW_NONE;
	index = walk->span.index + block;
	chunk = chunk_of(index);
	at = chunk ? chunk->words[index & (CHUNK_WORDS - 1)] : 0;
	if (!at)
		return ROW_NONE;
	chunk = chunk_of(walk->span.index + at);
	if (!chunk)
		return ROW_NONE;
	at = (walk->span.index + at) & (CHUNK_WORDS - 1);
	in_block = offset & (BLOCK_BYTES - 1);
	high = chunk->words[at] >> ROW_ADDRESS_SHIFT;
	for (int i = 0; i < ROW_STEPS; i++) { /* how many rows begin at or before the address */
		uint32_t middle = (low + high + 1) / 2, word = at + middle;

		if (low >= high)
			break;
		if (word >= CHUNK_WORDS)
			return ROW_NONE;
		if (chunk->words[word] >> ROW_ADDRESS_SHIFT <= in_block)
			low = middle;
		else
			high = middle - 1;
	}
	at += low;
	return at < CHUNK_WORDS ? chunk->words[at] & ((1U << ROW_ADDRESS_SHIFT) - 1) : ROW_NONE;
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
		to[i] = chunk->words[(first + i) & (CHUNK_WORDS - 1)];
	}
	return true;
}
