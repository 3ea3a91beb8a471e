/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unwinder for code without CFI: finds the caller by what lies on the stack, where that is
 * plausible. */
#pragma once

#include "bpf/unwind/unwind_regs.h"

int is_return_address(uint32_t level, uint64_t address);
int caller_bare(uint32_t level, uint32_t keeps_frames);

/* Returns whether a call ends right before an address. walk->code is the bytes before the
 * address. */
static __always_inline bool is_behind_call(struct walk *walk, uint64_t address)
{
	memo_void(walk);
	return read_user(walk->code, ARCH_CALL_BYTES, address - ARCH_CALL_BYTES) == 0 &&
	       arch_ends_with_call(walk->code);
}

/* Returns whether an address looks like a return address in code of the process: a call is right
 * before it. The mapping that holds the address becomes walk->span, the bytes before it
 * walk->code. */
__noinline int is_return_address(uint32_t level, uint64_t address)
{
	struct walk *walk = walk_at(level);

	return walk && span_find(walk, address - 1) && is_behind_call(walk, address);
}

/* Returns whether a caller's pc looks like a return address. If a probe hides the true one, sets
 * caller->pc. */
static __always_inline bool is_returned_to(struct walk *walk, struct caller *caller)
{
	uint64_t address;

	if (is_return_address(walk->level, caller->pc))
		return true;
	address = true_return(walk, caller);
	if (!address)
		return false;
	caller->pc = address;
	return is_return_address(walk->level, address);
}

/* Most bytes between the begin of a leaf function, where a call went, and pc. */
#define LEAF_BYTES 4096

/* Takes the word at `sp` as the return address of an interrupted frame of code without CFI. That is
 * certain if the call before it went right before pc; else the caller has to have CFI, and the next
 * frame has to confirm it. */
static __always_inline bool caller_on_top(struct walk *walk, struct caller *caller)
{
	uint64_t target;

	caller->sp = walk->sp;
	if (ARCH_RETURN_REG < ARCH_REGS) {
		if (reg_value(walk, ARCH_RETURN_REG, &caller->pc))
			return false;
		caller->pc = arch_code_address(caller->pc);
	} else {
		if (!read_word(walk, walk->sp, &caller->pc))
			return false;
		caller->sp += walk->word;
	}
	if (!is_returned_to(walk, caller))
		return false;
	caller->fp = walk->fp;
	caller->known = walk->known & WALK_FP;
	target = arch_call_target(walk->code, caller->pc);
	if (target && walk->pc - target < LEAF_BYTES)
		return true;
	if (span_kind(&walk->span) != SPAN_TABLE)
		return false;
	caller->unsure = true;
	return row_is_cfi(row_find(walk->level, caller->pc - 1));
}

/* Most bytes between a function's first instruction, where a call went, and pc. */
#define FUNCTION_BYTES 65536

/* Finds the caller by the pair that fp points to. If the function isn't known to keep frame
 * pointers, the pair may be the frame of a caller: the pair is the function's own if the call
 * before the return address went to the function. */
static __always_inline bool caller_by_frame(struct walk *walk, bool keeps_frames,
					    struct caller *caller)
{
	uint64_t target;

	if (walk->fp < walk->sp || walk->fp & (walk->word - 1) ||
	    !read_word(walk, walk->fp, &caller->fp) ||
	    !read_word(walk, walk->fp + walk->word, &caller->pc))
		return false;
	caller->pc = arch_code_address(caller->pc);
	caller->sp = walk->fp + 2 * walk->word;
	caller->known = WALK_FP | (ARCH_FRAME_TELLS_SP ? 0 : WALK_LOW_SP);
	if (caller->pc == 0 && keeps_frames)
		return true;
	if (!is_returned_to(walk, caller))
		return false;
	target = arch_call_target(walk->code, caller->pc);
	return keeps_frames || (target && walk->pc - target < FUNCTION_BYTES);
}

/* Finds the caller at the first or last instructions of a function that keeps frame pointers: there
 * fp is the caller's. */
static __always_inline bool caller_of_entry(struct walk *walk, struct caller *caller)
{
	uint64_t at = walk->sp;
	enum arch_place place;

	memo_void(walk);
	if (read_user(walk->code, sizeof(walk->code), walk->pc))
		return false;
	place = arch_place(walk->code, walk_is_narrow(walk));
	if (place == PLACE_BODY)
		return false;
	caller->fp = walk->fp;
	caller->known = walk->known & WALK_FP;
	if (place == PLACE_PUSHED) {
		if (!read_word(walk, at, &caller->fp))
			return false;
		caller->known = WALK_FP;
		at += walk->word;
	}
	caller->sp = at + walk->word;
	return read_word(walk, at, &caller->pc) && is_returned_to(walk, caller);
}

/* Finds the caller if the code that a call returns to is the end of its function, whatever fp is:
 * such are the trampolines that CPython 3.12 and later make for each function under -X perf. */
static __always_inline bool caller_of_end(struct walk *walk, struct caller *caller)
{
	uint32_t words;

	memo_void(walk);
	if (!sp_is_known(walk) || read_user(walk->code, sizeof(walk->code), walk->pc) ||
	    walk_is_narrow(walk) || !arch_leaves(walk->code, &words))
		return false;
	caller->fp = walk->fp;
	caller->known = walk->known & WALK_FP;
	caller->sp = walk->sp + (words + 1) * ARCH_WORD;
	return read_word(walk, caller->sp - ARCH_WORD, &caller->pc) && is_returned_to(walk, caller);
}

/*
 * Finds the caller of code without CFI. In a file that has CFI elsewhere such code is mostly
 * hand-written and a leaf; in a file without CFI, or made at run time, it keeps frame pointers or
 * can't be walked. A chain of frame pointers ends with 0, but a leaf, and code that doesn't keep
 * frame pointers, may have a 0 in the register for any reason. Returns STEP_ON, STEP_END, or why
 * the walk ends.
 */
__noinline int caller_bare(uint32_t level, uint32_t keeps_frames)
{
	struct walk *walk = walk_at(level);
	struct caller *caller;
	bool exact;

	if (!walk)
		return TRUNCATED_NO_TABLE;
	caller = &walk->caller;
	walk->used |= WALK_FP;
	exact = walk->known & WALK_EXACT;
	if (exact && caller_of_entry(walk, caller))
		return STEP_ON;
	if (!exact && keeps_frames && caller_of_end(walk, caller))
		return STEP_ON;
	exact = BOUND(walk->known) & WALK_EXACT;
	if (!exact && keeps_frames && walk->known & WALK_FP && !walk->fp)
		return STEP_END;
	/* The more likely of the two comes first. (A turn for each, so the programs have it once.)
	 */
	for (uint32_t turn = 0; turn < 2; turn++) {
		__asm__ volatile("" : "+r"(turn)); /* else the compiler unrolls the loop */
		caller->unsure = false;
		if (turn == !keeps_frames) {
			if (walk->known & WALK_FP && caller_by_frame(walk, keeps_frames, caller))
				return STEP_ON;
		} else if (exact && caller_on_top(walk, caller)) {
			return STEP_ON;
		}
	}
	return TRUNCATED_FRAME_POINTER;
}
