/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the callers of Java frames (bpf/shared/hotspot_tables.h), by what hotspot_arrive() found:
 *
 *	nmethod, stub	by the size of the frame; an interrupted frame by the place in its code
 *	interpreted	by fp
 *	other stubs	by fp; an interrupted one may be a leaf
 *
 * The caller of an interrupted frame is believed only if something may return to its pc.
 */
#pragma once

#include "bpf/hotspot/hotspot_ahead.h"

int hotspot_try(uint32_t level, uint32_t place);
int hotspot_to_sender(uint32_t level, uint32_t place);
int caller_interpreted(uint32_t level);

static __always_inline void hotspot_begin(struct walk *walk)
{
	if (!hotspot_of(walk)) /* the memory of a Java walk stays cold then */
		return;
	walk->hotspot.blob.kind = HOTSPOT_NONE;
	walk->hotspot.pushed = 0;
	walk->hotspot.look.end = AHEAD_ON;
	if (!hotspot_copy(walk->level))
		walk->hotspot_at = 0;
}

#if ARCH_REGS == 16

#define HOTSPOT_ENTRY_BYTES 128	 /* an incomplete interpreted frame has fewer */
#define HOTSPOT_SENDER_MAX  4096 /* bytes up to the caller's sp: parameters and locals */
#define HOTSPOT_AX	    0
#define HOTSPOT_COOKIE	    (~(uint64_t)0)
#define HOTSPOT_BX	    3
#define HOTSPOT_SI	    4
#define HOTSPOT_DI	    5
#define HOTSPOT_R11	    11

/* Returns whether something may return to the found caller. */
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

/* Returns whether the call of the found caller went to this blob. */
static __always_inline bool hotspot_is_near(struct walk *walk, const struct caller *caller)
{
	return hotspot_in_interpreter(walk, caller->pc) ||
	       hotspot_blob_holds(&walk->hotspot.blob, arch_call_target(walk->code, caller->pc));
}

static __always_inline bool hotspot_is_sender(const struct walk *walk, uint64_t sp)
{
	return sp >= walk->sp && sp - walk->sp < HOTSPOT_SENDER_MAX && !(sp & (ARCH_WORD - 1));
}

/* Reads the caller's sp where the interpreter begins or ends a frame: it is in a register. */
static __always_inline bool hotspot_sender(struct walk *walk, uint64_t *sp)
{
	return (!reg_value(walk, HOTSPOT_BCP, sp) && hotspot_is_sender(walk, *sp)) ||
	       (!reg_value(walk, HOTSPOT_BX, sp) && hotspot_is_sender(walk, *sp)) ||
	       (!reg_value(walk, HOTSPOT_R11, sp) && hotspot_is_sender(walk, *sp));
}

static __always_inline bool hotspot_fp_is_within(const struct walk *walk, uint64_t bytes)
{
	return walk->known & WALK_FP && walk->fp - walk->sp < bytes && walk->fp >= walk->sp;
}

/* Returns the register that has the return address. */
static __always_inline uint32_t hotspot_register(uint32_t place)
{
	switch (place) {
	case PLACE_ENTRY_R13:
		return HOTSPOT_BCP;
	case PLACE_ENTRY_SI:
		return HOTSPOT_SI;
	case PLACE_ENTRY_DI:
		return HOTSPOT_DI;
	default:
		return HOTSPOT_AX;
	}
}

static __always_inline bool hotspot_is_in_register(uint32_t place)
{
	return place == PLACE_AX || place == PLACE_CALLED || place >= PLACE_ENTRY_AX;
}

/* Returns where the return address lies; 0: nowhere. */
static __always_inline uint64_t hotspot_pc_at(const struct walk *walk, uint32_t place)
{
	const struct hotspot_blob *blob = &walk->hotspot.blob;
	uint32_t words = blob->frame_words;

	switch (place) {
	case PLACE_FRAME:
	case PLACE_FRAME_NEAR:
	case PLACE_HAS_FP:
		return words < 2 || words > HOTSPOT_FRAME_BYTES / ARCH_WORD
			       ? 0
			       : walk->sp + (words - 1) * ARCH_WORD;
	case PLACE_BY_FP: /* fp points into the frame */
		return hotspot_fp_is_within(walk, words ? words * ARCH_WORD : HOTSPOT_FRAME_BYTES)
			       ? walk->fp + ARCH_WORD
			       : 0;
	case PLACE_ENTRY_BY_FP:
		return hotspot_fp_is_within(walk, HOTSPOT_ENTRY_BYTES) ? walk->fp + ARCH_WORD : 0;
	case PLACE_ON_FP:
	case PLACE_ENTRY_ON_FP:
		return walk->sp + ARCH_WORD;
	case PLACE_AHEAD:
		return walk->hotspot.look.pc_at;
	default:
		return walk->sp;
	}
}

/* Returns whether the caller's fp lies right below the return address. */
static __always_inline bool hotspot_is_on_fp(uint32_t place)
{
	return place == PLACE_FRAME || place == PLACE_FRAME_NEAR || place == PLACE_BY_FP ||
	       place == PLACE_ON_FP || place == PLACE_ENTRY_BY_FP || place == PLACE_ENTRY_ON_FP;
}

/* Reads the caller's pc, sp and fp from that place. */
static __always_inline bool hotspot_candidate(struct walk *walk, struct caller *caller,
					      uint32_t place)
{
	uint64_t at;

	caller->fp = walk->fp;
	caller->known = walk->known & WALK_FP;
	if (hotspot_is_in_register(place)) {
		caller->sp = walk->sp;
		BOUND(walk->hotspot.reg) = hotspot_register(place); /* bounds for 5.10 */
		return !reg_value(walk, BOUND(walk->hotspot.reg), &caller->pc);
	}
	at = hotspot_pc_at(walk, place);
	caller->sp = at + ARCH_WORD;
	if (!at || !read_word(walk, at, &caller->pc))
		return false;
	at -= ARCH_WORD;
	if (place == PLACE_AHEAD)
		at = walk->hotspot.look.fp_at;
	if (!at || (place != PLACE_AHEAD && !hotspot_is_on_fp(place)))
		return true;
	caller->known = WALK_FP;
	if (!read_word(walk, at, &caller->fp))
		return false;
	if (place != PLACE_BY_FP || caller->pc != HOTSPOT_COOKIE)
		return true;
	caller->sp += ARCH_WORD; /* the stub called by a method's barrier has pushed the cookie */
	return read_word(walk, at + 2 * ARCH_WORD, &caller->pc);
}

/* Returns whether the caller is at that place; walk->caller is the caller then. */
__noinline int hotspot_try(uint32_t level, uint32_t place)
{
	struct walk *walk = walk_at(level);
	struct caller *caller;

	if (!walk)
		return 0;
	caller = &walk->caller;
	if (!hotspot_candidate(walk, caller, place) || !hotspot_is_caller(walk, caller))
		return 0;
	if (place == PLACE_CALLED)
		return hotspot_in_interpreter(walk, caller->pc);
	/* A leaf would have kept the fp of an interpreted frame. */
	if (place == PLACE_BY_FP && !walk->hotspot.blob.frame_words)
		return hotspot_is_near(walk, caller) ||
		       (walk->hotspot.look.end != AHEAD_RETURN &&
			!hotspot_is_interpreted(walk, walk->fp, walk->sp));
	return (place != PLACE_TOP_NEAR && place != PLACE_FRAME_NEAR) ||
	       hotspot_is_near(walk, caller);
}

/* Sets the caller's sp to the value that the interpreter goes back to. Returns 0 if it isn't
 * known. */
__noinline int hotspot_to_sender(uint32_t level, uint32_t place)
{
	struct walk *walk = walk_at(level);
	uint64_t *sp;

	if (!walk)
		return 0;
	sp = &walk->caller.sp;
	if (place == PLACE_ENTRY_BY_FP && walk->fp > walk->sp)
		return read_word(walk, walk->fp - ARCH_WORD, sp) && hotspot_is_sender(walk, *sp);
	return hotspot_sender(walk, sp);
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

/* ---- compiled frames ---- */

static __always_inline int caller_by_size(struct walk *walk, struct caller *caller)
{
	if (!sp_is_known(walk) || !hotspot_candidate(walk, caller, PLACE_FRAME))
		return TRUNCATED_JAVA;
	return STEP_ON;
}

/* Finds the caller of a method that has called a stub or the VM: it may have put something on the
 * stack for that call. */
static __always_inline int caller_at_call(struct walk *walk)
{
	if (hotspot_try(walk->level, PLACE_FRAME_NEAR))
		return STEP_ON;
	if (hotspot_ahead(walk->level))
		return hotspot_try(walk->level, PLACE_AHEAD) ? STEP_ON : TRUNCATED_JAVA;
	if (walk->hotspot.look.end != AHEAD_LOST && hotspot_try(walk->level, PLACE_FRAME))
		return STEP_ON;
	return TRUNCATED_JAVA;
}

#define PLACES(first, second, third, fourth)                                                       \
	(PLACE_##first | PLACE_##second << 8 | PLACE_##third << 16 | (uint64_t)PLACE_##fourth << 24)

/* Returns where the caller of an interrupted frame may be, the likeliest place first. */
static __always_inline uint64_t hotspot_places(struct walk *walk)
{
	bool framed = walk->hotspot.blob.frame_words;
	uint32_t place;

	if (walk->hotspot.blob.kind == HOTSPOT_INTERPRETER)
		return PLACES(ENTRY_TOP, ENTRY_ON_FP, ENTRY_BY_FP, ENTRY_AX) |
		       PLACES(ENTRY_R13, ENTRY_SI, ENTRY_DI, NOWHERE) << 32;
	place = hotspot_place(walk->level);
	if (place == PLACE_UNTOLD && !framed)
		place = hotspot_adapter(walk->level);
	if (place != PLACE_UNTOLD && place != PLACE_BY_FP)
		return place | PLACES(NOWHERE, FRAME, AHEAD, NOWHERE); /* a body may look so */
	if (!framed)
		return PLACES(TOP_NEAR, CALLED, AHEAD, BY_FP) | (uint64_t)PLACE_TOP << 32;
	if (walk->hotspot.blob.kind == HOTSPOT_NMETHOD && place == PLACE_UNTOLD)
		return PLACES(FRAME_NEAR, AHEAD, FRAME, TOP) | (uint64_t)PLACE_BY_FP << 32;
	return PLACES(BY_FP, FRAME, AHEAD, TOP);
}

#define HOTSPOT_PLACES 7

/* Returns the place to be tried next. (It is read from memory each time: see
 * hotspot_is_known().) */
static __always_inline uint32_t hotspot_next_place(const struct walk *walk)
{
	return *(const volatile uint64_t *)&walk->hotspot.places & 0xff;
}

static __always_inline int caller_of_java_leaf(struct walk *walk)
{
	walk->hotspot.places = hotspot_places(walk);
	walk->hotspot.look.end = AHEAD_ON;
	for (uint64_t i = 0; i < HOTSPOT_PLACES && hotspot_next_place(walk); i++) {
		bool is_ahead = hotspot_next_place(walk) == PLACE_AHEAD;
		bool is_told = is_ahead && hotspot_ahead(walk->level);

		if (is_told == is_ahead && hotspot_try(walk->level, hotspot_next_place(walk)) &&
		    (hotspot_next_place(walk) < PLACE_ENTRY_TOP ||
		     hotspot_to_sender(walk->level, hotspot_next_place(walk))))
			return STEP_ON;
		if (is_ahead && (walk->hotspot.look.end == AHEAD_LOST ||
				 (is_told && walk->hotspot.blob.frame_words)))
			break; /* the other places need the usual sp */
		walk->hotspot.places >>= 8;
	}
	return TRUNCATED_JAVA;
}

/* Ends a walk at the first Java frame: it goes on when another program walks the same stack. */
static __always_inline int java_is_pending(struct walk *walk)
{
	memo_void(walk);
	return TRUNCATED_RUNTIME_PENDING;
}

static __always_inline int caller_hotspot(struct walk *walk, struct caller *caller)
{
	const struct hotspot_blob *blob = &walk->hotspot.blob;
	int r;

	if (walk->pending & WALKS_JAVA)
		return java_is_pending(walk);
	if (!hotspot_of(walk) || blob->kind == HOTSPOT_NONE)
		return TRUNCATED_JAVA;
	if (blob->kind == HOTSPOT_METHOD)
		return caller_interpreted(walk->level);
	if (walk->known & WALK_EXACT)
		return caller_of_java_leaf(walk);
	if (hotspot_in(walk->pc, walk->hotspot.at.carrier_from, walk->hotspot.at.carrier_to))
		return STEP_END;
	if (blob->kind == HOTSPOT_NMETHOD && walk->hotspot.callee != HOTSPOT_NMETHOD)
		return caller_at_call(walk);
	if (blob->frame_words)
		return caller_by_size(walk, caller);
	if (hotspot_try(walk->level, PLACE_BY_FP))
		return STEP_ON;
	r = caller_bare(walk->level, true);
	return r == STEP_END ? TRUNCATED_JAVA : r;
}

/* Finds the caller of a Java frame. The VM calls Java's code, so a 0 in place of a caller means
 * only that the frame isn't where it was looked for, as behind a call for which sp was aligned. */
static __always_inline int caller_of_java(struct walk *walk, struct caller *caller)
{
	int r = caller_hotspot(walk, caller);

	return r == STEP_ON && !caller->pc ? TRUNCATED_JAVA : r;
}

#else

static __always_inline int caller_of_java(struct walk *walk, struct caller *caller)
{
	(void)walk;
	(void)caller;
	return TRUNCATED_JAVA;
}

#endif
