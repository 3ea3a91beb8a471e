/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Look-up of a pc in a Java VM's code cache, and of an interpreted frame's method
 * (bpf/shared/hotspot_tables.h):
 *
 *	pc -> heap -> segment map -> block -> CodeBlob
 *
 * A result is cached for the rest of the walk, for methods recur; but not for the next walk: by
 * then the memory may be another method's.
 */
#pragma once

#include "bpf/unwind/unwind_nocfi.h"

#define HOTSPOT_HOPS	    64
#define HOTSPOT_HOPS_RUN    8 /* hops of one call */
#define HOTSPOT_FREE	    0xff
#define HOTSPOT_BLOB_BYTES  (1U << 28) /* no blob is as large */
#define HOTSPOT_FRAME_BYTES (1U << 20) /* no frame is as large */

_Static_assert(HOTSPOT_BLOB_WORDS_MAX <= PYTHON_STATE_WORDS, "python.words have room for a blob");

int hotspot_copy(uint32_t level);
int hotspot_read(uint32_t level, uint32_t words, uint64_t from);
int hotspot_hop(uint32_t level, uint64_t segments);
int hotspot_blob_find(uint32_t level, uint64_t pc);
int hotspot_method_find(uint32_t level, uint64_t method);

/* Reads the VM's layout from the arena. A function of its own, for it is needed once in a walk.
 * Returns 0 if there is no layout. */
__noinline int hotspot_copy(uint32_t level)
{
	struct walk *walk = walk_at(level);
	const struct chunk *chunk = walk ? chunk_of(walk->hotspot_at) : NULL;
	uint32_t first;

	if (!walk || !chunk)
		return 0;
	first = walk->hotspot_at & (CHUNK_WORDS - 1);
	if (first > CHUNK_WORDS - HOTSPOT_WORDS)
		return 0;
	__builtin_memcpy(&walk->hotspot.at, &chunk->words[first], sizeof(walk->hotspot.at));
	for (uint32_t i = 0; i < HOTSPOT_KNOWN; i++)
		walk->hotspot.known[i].to = 0;
	walk->hotspot.asked = 0;
	return 1;
}

/* ---- fields of the words that were read last; offsets are masked, so the daemon's offsets need no
 * proof ---- */

static __always_inline uint64_t hotspot_word(const struct walk *walk, uint32_t offset)
{
	return walk->python.words[offset / 8 & (PYTHON_STATE_WORDS - 1)];
}

static __always_inline uint32_t hotspot_int(const struct walk *walk, uint32_t offset)
{
	return hotspot_word(walk, offset) >> offset % 8 * 8;
}

static __always_inline uint32_t hotspot_short(const struct walk *walk, uint32_t offset)
{
	return (uint16_t)hotspot_int(walk, offset);
}

/* Reads words into python.words. If the next page isn't there, reads up to the end of the page.
 * Returns 0 if there is nothing to be read. */
__noinline int hotspot_read(uint32_t level, uint32_t words, uint64_t from)
{
	struct walk *walk = walk_at(level);
	uint32_t left;

	if (!walk || words > HOTSPOT_BLOB_WORDS_MAX)
		return 0;
	asm volatile("" : "+r"(words)); /* joined with the next check, 5.10 would see no bound */
	if (!words)
		return 0;
	if (read_user(walk->python.words, words * sizeof(uint64_t), from) == 0)
		return 1;
	BOUND(walk->hotspot.left) = 4096 - (from & 4095);
	__builtin_memset(walk->python.words, 0, sizeof(walk->python.words));
	if (BOUND(walk->hotspot.left) >= sizeof(walk->python.words))
		return 0;
	left = BOUND(walk->hotspot.left) & (sizeof(walk->python.words) - 1); /* a bound for 5.10 */
	return read_user(walk->python.words, left, from) == 0;
}

/* ---- what was found before ---- */

static __always_inline bool hotspot_blob_holds(const struct hotspot_blob *blob, uint64_t address)
{
	return address - blob->from < blob->to - blob->from;
}

/* Copies the cached result for an address to `found`. Returns false if there is none. (The slot is
 * read from memory each time: kernels before 6.8 forget the bounds of spilled values.) */
static __always_inline bool hotspot_is_known(struct walk *walk, uint64_t asked)
{
	const struct hotspot_blob *known;

	BOUND(walk->hotspot.slot) = hash_word(0, asked);
	known = &walk->hotspot.known[BOUND(walk->hotspot.slot) & (HOTSPOT_KNOWN - 1)];
	if (known->to <= known->from || !hotspot_blob_holds(known, asked))
		return false;
	walk->hotspot.found = *known;
	return true;
}

static __always_inline int hotspot_found(struct walk *walk)
{
	uint32_t slot = BOUND(walk->hotspot.slot) & (HOTSPOT_KNOWN - 1);

	walk->hotspot.known[slot] = walk->hotspot.found;
	return 1;
}

/* ---- a pc's blob ---- */

static __always_inline uint64_t hotspot_heap_low(struct walk *walk, uint64_t pc, uint64_t *segments)
{
	uint64_t low = 0;

	for (uint32_t i = 0; i < HOTSPOT_HEAPS_MAX; i++) {
		const struct hotspot_heap *heap = &walk->hotspot.at.heaps[i];

		if (pc - heap->low >= heap->high - heap->low)
			continue;
		low = heap->low;
		*segments = heap->segments;
	}
	return low;
}

enum hotspot_hops { HOPS_LOST, HOPS_ARRIVED, HOPS_ON };

/* Goes back in a segment map from hotspot.segment on, up to HOTSPOT_HOPS_RUN times. Returns
 * HOPS_ARRIVED if a block begins at hotspot.segment. A global function, for the verifier walks each
 * hop of a loop: two short loops are less than a long one. */
__noinline int hotspot_hop(uint32_t level, uint64_t segments)
{
	struct walk *walk = walk_at(level);
	uint64_t segment;
	uint8_t tag;

	if (!walk)
		return HOPS_LOST;
	for (uint32_t i = 0; i < HOTSPOT_HOPS_RUN; i++) {
		segment = *(volatile uint64_t *)&walk->hotspot.segment;
		if (read_user(&tag, sizeof(tag), segments + segment) || tag == HOTSPOT_FREE ||
		    tag > segment)
			return HOPS_LOST;
		if (!tag)
			return HOPS_ARRIVED;
		walk->hotspot.segment = segment - tag;
	}
	return HOPS_ON;
}

/* Returns the block that holds a pc; 0: none does. The progress of the search is kept: where memory
 * has to be copied first (bpf/unwind/task_copy.h), the search goes on from there. */
static __always_inline uint64_t hotspot_block(struct walk *walk, uint64_t pc)
{
	struct hotspot_walk *java = &walk->hotspot;
	uint64_t segments = 0, low = hotspot_heap_low(walk, pc, &segments);
	uint32_t shift = java->at.segment_shift & 31;
	int r = HOPS_ON;

	if (!low)
		return 0;
	if (java->asked != pc)
		java->segment = (pc - low) >> shift;
	java->asked = pc;
	for (uint32_t i = 0; i < HOTSPOT_HOPS / HOTSPOT_HOPS_RUN && r == HOPS_ON; i++)
		r = hotspot_hop(walk->level, segments);
	return r == HOPS_ARRIVED ? low + (java->segment << shift) : 0;
}

/* Returns the address of a deopt handler; 0: there is none. */
static __always_inline uint64_t hotspot_handler(struct walk *walk, uint64_t from, uint32_t offset)
{
	uint32_t distance = hotspot_int(walk, offset);

	if (offset == HOTSPOT_NO)
		return 0;
	if (!(walk->hotspot.at.flags & HOTSPOT_DEOPT_IS_OFFSET))
		return hotspot_word(walk, offset);
	return distance && distance < HOTSPOT_BLOB_BYTES ? from + distance : 0;
}

static __always_inline void hotspot_take_nmethod(struct walk *walk, struct hotspot_blob *blob)
{
	const struct hotspot *at = &walk->hotspot.at;

	blob->kind = HOTSPOT_NMETHOD;
	blob->id = hotspot_int(walk, at->nmethod_id);
	blob->orig_pc = hotspot_int(walk, at->nmethod_orig_pc);
	blob->deopt[0] = hotspot_handler(walk, blob->from, at->nmethod_deopt);
	blob->deopt[1] = hotspot_handler(walk, blob->from, at->nmethod_deopt_mh);
}

/* Fills `found` from the words that were read, of the blob at `from`. */
static __always_inline void hotspot_take_blob(struct walk *walk, uint64_t from)
{
	const struct hotspot *at = &walk->hotspot.at;
	struct hotspot_blob *blob = &walk->hotspot.found;
	uint32_t header = hotspot_int(walk, at->blob_header);
	uint32_t size = hotspot_int(walk, at->blob_size);

	if (at->flags & HOTSPOT_HEADER_IS_SHORT)
		header = (uint16_t)header;
	blob->from = from;
	blob->to = size < HOTSPOT_BLOB_BYTES ? from + size : from;
	blob->code = hotspot_word(walk, at->blob_code);
	if (at->flags & HOTSPOT_CODE_IS_OFFSET)
		blob->code = from + hotspot_int(walk, at->blob_code);
	blob->complete = hotspot_int(walk, at->blob_complete);
	if (at->flags & HOTSPOT_COMPLETE_IS_SHORT)
		blob->complete = (int32_t)((uint32_t)blob->complete << 16) >> 16;
	blob->frame_words = hotspot_int(walk, at->blob_frame_size);
	if (blob->frame_words > HOTSPOT_FRAME_BYTES / ARCH_WORD) /* -1: it has no size */
		blob->frame_words = 0;
	blob->kind = HOTSPOT_STUB;
	blob->id = blob->orig_pc = 0;
	blob->deopt[0] = blob->deopt[1] = 0;
	if (header == at->nmethod_header)
		hotspot_take_nmethod(walk, blob);
}

/* Finds the blob that holds a pc in its code, and makes it hotspot.found. Returns 0 if there is
 * none. */
__noinline int hotspot_blob_find(uint32_t level, uint64_t pc)
{
	struct walk *walk = walk_at(level);
	uint64_t block;

	if (!walk)
		return 0;
	if (hotspot_is_known(walk, pc))
		return 1;
	block = hotspot_block(walk, pc);
	if (!block)
		return 0;
	block += walk->hotspot.at.block_bytes;
	if (!hotspot_read(level, walk->hotspot.at.blob_words, block))
		return 0;
	hotspot_take_blob(walk, block);
	if (!hotspot_blob_holds(&walk->hotspot.found, walk->hotspot.found.code) ||
	    pc < walk->hotspot.found.code || pc >= walk->hotspot.found.to)
		return 0;
	return hotspot_found(walk);
}

/* ---- a method ---- */

/* Reads an interpreted frame's method, and makes it hotspot.found. Returns 0 if that is no
 * method. */
__noinline int hotspot_method_find(uint32_t level, uint64_t method)
{
	struct walk *walk = walk_at(level);
	const struct hotspot *at;
	struct hotspot_blob *found;
	uint64_t constant, pool;

	if (!walk)
		return 0;
	if (hotspot_is_known(walk, method))
		return 1;
	at = &walk->hotspot.at;
	found = &walk->hotspot.found;
	if (!method || method & 7 ||
	    read_user(&constant, sizeof(constant), method + at->method_const) || !constant ||
	    constant & 7 || !hotspot_read(level, at->const_bytes / 8, constant))
		return 0;
	pool = hotspot_word(walk, at->const_pool);
	if (!pool || pool & 7)
		return 0;
	found->from = method;
	found->to = method + 1;
	found->code = constant + at->const_bytes;
	found->kind = HOTSPOT_METHOD;
	found->frame_words = hotspot_short(walk, at->const_code_size);
	found->id = hotspot_method_id(constant, pool, hotspot_short(walk, at->const_name),
				      hotspot_short(walk, at->const_signature), found->frame_words);
	return hotspot_found(walk);
}
