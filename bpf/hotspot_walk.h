/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The callers of Java's frames (bpf/hotspot.h), by what hotspot_arrive() found of them:
 *
 *	nmethod, stub	by the size of its frame; an interrupted one by where in its code it stands
 *	interpreted	by fp
 *	other stubs	by fp; an interrupted one may be a leaf
 *
 * An interrupted frame's caller is believed only where its pc is one that something returns to.
 */
#pragma once

#include "hotspot_code.h"

int hotspot_try(uint32_t level, uint32_t place);
int caller_interpreted(uint32_t level);

static __always_inline void hotspot_begin(struct walk *walk)
{
	walk->hotspot.blob.kind = HOTSPOT_NONE;
	if (walk->hotspot_at)
		hotspot_copy(walk->level);
}

#if ARCH_REGS == 16

#define HOTSPOT_ENTRY_BYTES 128	 /* an interpreted frame that isn't complete has fewer */
#define HOTSPOT_SENDER_MAX  4096 /* between it and its caller's sp: parameters and locals */
#define HOTSPOT_AX	    0
#define HOTSPOT_BX	    3
#define HOTSPOT_SI	    4
#define HOTSPOT_DI	    5
#define HOTSPOT_R11	    11

/* Whether something may return to the caller that was found. */
static __always_inline bool hotspot_is_caller(struct walk *walk, struct caller *caller)
{
	if (hotspot_is_frozen(walk, caller->pc))
		return true;
	if (hotspot_in_interpreter(walk, caller->pc))
		return caller->known & WALK_FP &&
		       hotspot_is_interpreted(walk, caller->fp, caller->sp);
	if (is_returned_to(walk, caller))
		return true;
	return hotspot_blob_find(walk->level, caller->pc - 1) &&
	       hotspot_is_deopt(&walk->hotspot.found, caller->pc);
}

/* The same of one whose call went to this blob. */
static __always_inline bool hotspot_is_near(struct walk *walk, const struct caller *caller)
{
	return hotspot_in_interpreter(walk, caller->pc) ||
	       hotspot_blob_holds(&walk->hotspot.blob, arch_call_target(walk->code, caller->pc));
}

static __always_inline bool hotspot_is_sender(const struct walk *walk, uint64_t sp)
{
	return sp >= walk->sp && sp - walk->sp < HOTSPOT_SENDER_MAX && !(sp & (ARCH_WORD - 1));
}

/* The caller's sp where the interpreter begins or ends a frame: in a register. */
static __always_inline bool hotspot_sender(struct walk *walk, uint64_t *sp)
{
	return (!reg_value(walk, HOTSPOT_BCP, sp) && hotspot_is_sender(walk, *sp)) ||
	       (!reg_value(walk, HOTSPOT_BX, sp) && hotspot_is_sender(walk, *sp)) ||
	       (!reg_value(walk, HOTSPOT_R11, sp) && hotspot_is_sender(walk, *sp));
}

/* What lies at these places as the caller's pc, sp and fp. */
static __always_inline bool hotspot_candidate(struct walk *walk, struct caller *caller,
					      uint32_t place)
{
	uint64_t at = walk->sp;

	caller->fp = walk->fp;
	caller->known = walk->known & WALK_FP;
	if (place == PLACE_FRAME || place == PLACE_HAS_FP) {
		if (walk->hotspot.blob.frame_words < 2 ||
		    walk->hotspot.blob.frame_words > HOTSPOT_FRAME_BYTES / ARCH_WORD)
			return false;
		at += (walk->hotspot.blob.frame_words - 1) * ARCH_WORD;
	}
	if (place == PLACE_BY_FP) {
		if (!(walk->known & WALK_FP) || walk->fp < walk->sp ||
		    walk->fp - walk->sp > HOTSPOT_FRAME_BYTES)
			return false;
		at = walk->fp + ARCH_WORD;
	}
	if (place == PLACE_ON_FP)
		at += ARCH_WORD;
	if (place == PLACE_FRAME || place == PLACE_BY_FP || place == PLACE_ON_FP) {
		if (!read_word(walk, at - ARCH_WORD, &caller->fp))
			return false;
		caller->known = WALK_FP;
	}
	caller->sp = at + ARCH_WORD;
	return read_word(walk, at, &caller->pc);
}

/* Whether the caller is at that place; then walk->caller is it. */
__noinline int hotspot_try(uint32_t level, uint32_t place)
{
	struct walk *walk = walk_at(level);
	struct caller *caller;

	if (!walk)
		return 0;
	caller = &walk->caller;
	if (!hotspot_candidate(walk, caller, place) || !hotspot_is_caller(walk, caller))
		return 0;
	if (place == PLACE_TOP_NEAR && !hotspot_is_near(walk, caller))
		return 0;
	return 1;
}

/* ---- interpreted frames ---- */

__noinline int caller_interpreted(uint32_t level)
{
	struct walk *walk = walk_at(level);
	struct caller *caller;

	if (!walk)
		return TRUNCATED_JAVA;
	caller = &walk->caller;
	walk->used |= WALK_FP;
	caller->known = WALK_FP;
	if (!read_word(walk, walk->fp, &caller->fp) ||
	    !read_word(walk, walk->fp + ARCH_WORD, &caller->pc) ||
	    !read_word(walk, hotspot_slot(walk->fp, walk->hotspot.at.frame_sender), &caller->sp))
		return TRUNCATED_MEMORY;
	return STEP_ON;
}

/* ---- compiled ones ---- */

static __always_inline int caller_by_size(struct walk *walk, struct caller *caller)
{
	if (!sp_is_known(walk) || !hotspot_candidate(walk, caller, PLACE_FRAME))
		return TRUNCATED_JAVA;
	return STEP_ON;
}

/* An interrupted frame's: the places that are tried, the first one first. */
static __always_inline uint32_t hotspot_places(struct walk *walk)
{
	uint32_t place;

	if (walk->hotspot.blob.kind == HOTSPOT_INTERPRETER)
		return PLACE_TOP | PLACE_ON_FP << 4 | PLACE_BY_FP << 8;
	place = hotspot_place(walk->level);
	if (place == PLACE_BY_FP)
		return PLACE_BY_FP | PLACE_FRAME << 4 | PLACE_TOP << 8;
	if (place != PLACE_UNTOLD) /* else what it looks like is something else's end */
		return place | PLACE_FRAME << 4;
	if (walk->hotspot.blob.frame_words)
		return PLACE_FRAME | PLACE_TOP << 4 | PLACE_BY_FP << 8;
	return PLACE_TOP_NEAR | PLACE_BY_FP << 4 | PLACE_TOP << 8;
}

static __always_inline int caller_of_java_leaf(struct walk *walk)
{
	uint32_t places = hotspot_places(walk);

	for (uint32_t i = 0; i < 3; i++) {
		if (places & 15 && hotspot_try(walk->level, places & 15))
			return STEP_ON;
		places >>= 4;
	}
	return TRUNCATED_JAVA;
}

static __always_inline int caller_hotspot(struct walk *walk, struct caller *caller)
{
	const struct hotspot_blob *blob = &walk->hotspot.blob;

	if (blob->kind == HOTSPOT_NONE)
		return TRUNCATED_JAVA;
	if (blob->kind == HOTSPOT_METHOD)
		return caller_interpreted(walk->level);
	if (walk->known & WALK_EXACT)
		return caller_of_java_leaf(walk);
	if (hotspot_in(walk->pc, walk->hotspot.at.carrier_from, walk->hotspot.at.carrier_to))
		return STEP_END;
	if (blob->frame_words)
		return caller_by_size(walk, caller);
	return caller_bare(walk->level, true);
}

#else

static __always_inline int caller_hotspot(struct walk *walk, struct caller *caller)
{
	(void)walk;
	(void)caller;
	return TRUNCATED_JAVA;
}

#endif
