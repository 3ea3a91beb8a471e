/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the caller of LuaJIT's code (x86-64, states with 64-bit references): of its interpreter,
 * and of the machine code that it makes of hot paths (traces). Both run in one frame of the C
 * stack. A call into Lua sets it up:
 *
 *	frame + 0x10	the Lua state; its word at 0x50 is the address of its newest frame, with
 *			flags in the two low bits
 *	frame + 0x20	the state's frame before, which lies above, with such flags; 0: none
 *	frame + 0x40	the caller's rbp
 *	frame + 0x48	the return address
 *
 * Nothing says how far the frame is from the stack pointer: a trace takes room for its values, and
 * the interpreter calls parts of itself and saves registers when a trace is left, while its CFI
 * says that the frame is where the stack pointer is. So the frame is searched for, from the stack
 * pointer upwards, and believed if it is one of its state's frames. If a frame lies at the stack
 * pointer that its state doesn't know (any more), the walk ends: what lies above is another call's.
 */
#pragma once

#include "bpf/unwind/unwind_nocfi.h"

#define LUAJIT_STATE	      0x10
#define LUAJIT_BEFORE	      0x20
#define LUAJIT_FP	      0x40
#define LUAJIT_BYTES	      0x50
#define LUAJIT_FRAME_OF_STATE 0x50
#define LUAJIT_FLAGS	      3ULL
#define LUAJIT_ALIGNMENT      16
#define LUAJIT_FRAMES	      16   /* of a state, which are followed at a time */
#define LUAJIT_LOOKS	      8192 /* of a walk; a look at a state is LUAJIT_READ of these */
#define LUAJIT_READ	      8
#define LUAJIT_SEARCHED	      96 /* places: most values that a trace keeps, and all registers */

#define ROW_LUAJIT	      (ROW_SPECIAL << ROW_KIND_SHIFT | SPECIAL_LUAJIT)

/* Memory for traces is mapped in areas, of which several may be one mapping. Each begins with the
 * address of an earlier one (0: none), and its own size. */
#define LUAJIT_AREAS 32
#define LUAJIT_PAGE  4096

int luajit_frame_at(uint32_t level, uint64_t frame);
int luajit_made_it(uint32_t level);
int caller_of_luajit(uint32_t level, uint32_t is_made);

/* What lies at an address. */
#define LUAJIT_NONE   0
#define LUAJIT_FRAME  1
#define LUAJIT_FORMER 2 /* what looks like a frame that its state doesn't know yet, or any more */

/* Takes from what the walk may still look at. Returns false if it is used up. */
static __always_inline bool luajit_look(struct walk *walk, uint32_t looks)
{
	if (walk->luajit_left < looks)
		return false;
	walk->luajit_left -= looks;
	return true;
}

/* Returns what lies at that address. */
__noinline int luajit_frame_at(uint32_t level, uint64_t frame)
{
	struct walk *walk = walk_at(level);
	uint64_t before, state, at;

	if (!walk || !luajit_look(walk, 1) || !window_word(walk, frame + LUAJIT_BEFORE, &before))
		return LUAJIT_NONE;
	before &= ~LUAJIT_FLAGS;
	if (before && (before <= frame || before & (LUAJIT_ALIGNMENT - 1)))
		return LUAJIT_NONE;
	if (!window_word(walk, frame + LUAJIT_STATE, &state) || !state || state & (ARCH_WORD - 1) ||
	    !luajit_look(walk, LUAJIT_READ) ||
	    read_user(&at, sizeof(at), state + LUAJIT_FRAME_OF_STATE))
		return LUAJIT_NONE;
	at &= ~LUAJIT_FLAGS;
	if (at == before)
		return LUAJIT_FORMER;
	if (frame == walk->luajit_before)
		at = frame;
	/* from the newest frame on, which others may have called */
	for (uint32_t i = 0; i < LUAJIT_FRAMES && at && at < frame; i++) {
		if (!luajit_look(walk, LUAJIT_READ) ||
		    read_user(&at, sizeof(at), at + LUAJIT_BEFORE))
			return LUAJIT_NONE;
		at &= ~LUAJIT_FLAGS;
	}
	return at == frame ? LUAJIT_FRAME : LUAJIT_NONE;
}

/* Returns whether pc lies in an area for traces; other code that is made at run time may be called
 * by functions that such a trace called. */
__noinline int luajit_made_it(uint32_t level)
{
	struct walk *walk = walk_at(level);
	uint64_t area[2], at;

	if (!walk)
		return 0;
	at = walk->span.start;
	for (uint32_t i = 0; i < LUAJIT_AREAS; i++) {
		if (read_user(area, sizeof(area), at) || !area[1] ||
		    (area[0] | area[1]) & (LUAJIT_PAGE - 1) || area[1] > walk->span.end - at)
			return 0;
		if (walk->pc - at < area[1])
			return 1;
		at += area[1];
	}
	return 0;
}

/* Reads the caller that a frame returns to. Returns false if it can't be read. */
static __always_inline bool luajit_leave(struct walk *walk, uint64_t frame)
{
	struct caller *caller = &walk->caller;

	caller->sp = frame + LUAJIT_BYTES;
	caller->known = WALK_FP;
	if (!window_word(walk, frame + LUAJIT_BEFORE, &walk->luajit_before) ||
	    !window_word(walk, frame + LUAJIT_FP, &caller->fp) ||
	    !window_word(walk, caller->sp - ARCH_WORD, &caller->pc))
		return false;
	walk->luajit_before &= ~LUAJIT_FLAGS;
	return true;
}

/* Returns whether the interrupted function was called right before its begin: functions of C that
 * lie in the interpreter, and parts that it calls, have no frame. */
static __always_inline bool luajit_is_called(struct walk *walk)
{
	return walk->known & WALK_EXACT && caller_on_top(walk, &walk->caller) &&
	       !walk->caller.unsure;
}

/* Finds the caller of LuaJIT's code, the interpreter or a trace (`is_made`). Returns 0 if the frame
 * isn't found. */
__noinline int caller_of_luajit(uint32_t level, uint32_t is_made)
{
	struct walk *walk = walk_at(level);
	uint64_t frame;

	if (!ARCH_WALKS_LUAJIT || !walk || walk_is_narrow(walk))
		return 0;
	memo_void(walk); /* the state isn't on the stack */
	if (!is_made && luajit_is_called(walk))
		return 1;
	walk->caller.unsure = false;
	frame = (walk->sp + LUAJIT_ALIGNMENT - 1) & ~(uint64_t)(LUAJIT_ALIGNMENT - 1);
	for (uint32_t i = 0; i < LUAJIT_SEARCHED; i++) {
		int found = luajit_frame_at(level, frame);

		if (found == LUAJIT_FRAME)
			return luajit_leave(walk, frame);
		/* (Of a trace, values lie there, and what was left of earlier calls.) */
		if (found == LUAJIT_FORMER && i == 0 && !is_made)
			return 0;
		frame += LUAJIT_ALIGNMENT;
	}
	return 0;
}
