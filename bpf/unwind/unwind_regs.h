/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the words and registers of a frame, as far as they are known. */
#pragma once

#include "bpf/unwind/lookup.h"
#include "bpf/unwind/memo.h"

/* Result of a step besides a cause (enum truncation). */
#define STEP_ON	 0    /* the caller was found */
#define STEP_END 1000 /* there is no caller: the stack is complete */

int window_fill(uint32_t level, uint64_t address);
int read_narrow_word(uint32_t level, uint64_t address);

/* Reads the memory around an address into walk->window, as far as there is memory. Returns 0 if
 * there is none. */
__noinline int window_fill(uint32_t level, uint64_t address)
{
	struct walk *walk = walk_at(level);
	uint64_t at = address & ~(uint64_t)63, left = 4096 - (at & 4095);

	if (!walk)
		return 0;
	walk->window_at = at;
	walk->window_bytes = sizeof(walk->window);
	if (read_user(walk->window, sizeof(walk->window), at) == 0)
		return 1;
	if (left > sizeof(walk->window))
		left = sizeof(walk->window);
	walk->window_bytes = left;
	if (left && read_user(walk->window, left, at) == 0)
		return 1;
	walk->window_bytes = 0;
	return 0;
}

/* (The offset is computed where both ways have met: if they met with registers that are copies of
 * each other on one way only, the verifier would follow both ways on.) */
static __always_inline bool window_word(struct walk *walk, uint64_t address, uint64_t *word)
{
	uint64_t offset;

	if (address - walk->window_at >= walk->window_bytes && !window_fill(walk->level, address))
		return false;
	__asm__ volatile("" : "+r"(address));
	offset = address - walk->window_at;
	*word = walk->window[offset / ARCH_WORD & (WINDOW_WORDS - 1)];
	return true;
}

/* Reads a word of 64-bit code's stack, and notes it in the memo. Returns false if it can't be read.
 */
static __always_inline bool read_wide_word(struct walk *walk, uint64_t address, uint64_t *word)
{
	if (!(address & (ARCH_WORD - 1)) && window_word(walk, address, word)) {
		memo_note(walk, address, *word);
		return true;
	}
	memo_void(walk);
	return read_user(word, sizeof(*word), address) == 0;
}

/* Reads a word of 32-bit code's stack into walk->narrow_word. Returns 0 if it can't be read. */
__noinline int read_narrow_word(uint32_t level, uint64_t address)
{
	struct walk *walk = walk_at(level);

	if (!walk)
		return 0;
	walk->narrow_word = 0;
	return read_user(&walk->narrow_word, sizeof(uint32_t), address) == 0;
}

/* Reads a word of the user's stack. Returns false if it can't be read. */
static __always_inline bool read_word(struct walk *walk, uint64_t address, uint64_t *word)
{
	if (!walk_is_narrow(walk))
		return read_wide_word(walk, address, word);
	if (!read_narrow_word(walk->level, address))
		return false;
	*word = walk->narrow_word;
	return true;
}

static __always_inline bool sp_is_known(const struct walk *walk)
{
	return ARCH_FRAME_TELLS_SP || !(walk->known & WALK_LOW_SP);
}

/* Returns the true return address of the frame that has this caller, if the call's return is
 * probed; else 0. To be called if the return address that was found is in no code. */
static __always_inline uint64_t true_return(struct walk *walk, const struct caller *caller)
{
	bool low = !ARCH_FRAME_TELLS_SP && caller->known & WALK_LOW_SP;
	uint64_t address = probed_return(walk->level, caller->sp - ARCH_ENTRY_WORDS * ARCH_WORD,
					 low ? ~0U : 0);

	if (address)
		memo_void(walk); /* the words on the stack don't tell it */
	return arch_code_address(address);
}

/* Reads the value of a register in the current frame. Returns STEP_ON, or why the walk ends. */
static __always_inline int reg_value(struct walk *walk, uint32_t reg, uint64_t *value)
{
	uint32_t slot = reg & (ARCH_REGS - 1);

	if (reg == ARCH_SP && !sp_is_known(walk))
		return TRUNCATED_REGISTER;
	if (reg == ARCH_FP)
		walk->used |= WALK_FP;
	if (reg == ARCH_BX)
		walk->used |= WALK_BX;
	if (reg == ARCH_SP)
		*value = walk->sp;
	else if (reg == ARCH_FP && walk->known & WALK_FP)
		*value = walk->fp;
	else if (reg == ARCH_BX && walk->known & WALK_BX)
		*value = walk->bx;
	else if (reg >= ARCH_REGS)
		return TRUNCATED_RULE;
	else if (memo_void(walk), walk->known & WALK_REGS)
		*value = walk->gpr[slot];
	else if (!walk->context)
		return TRUNCATED_REGISTER;
	else if (read_user(value, sizeof(*value),
			   walk->context + arch_context_slot(slot) * ARCH_WORD))
		return TRUNCATED_MEMORY;
	return STEP_ON;
}
