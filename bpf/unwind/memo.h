/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cache of user stacks that can't have changed: if the registers of a thread's last walk and every
 * stack word that this walk read are the same, the thread has the same stack. (The same pc and sp
 * alone say little: two functions of equal frame size that call the same helper look alike.)
 *
 * Registers that the walk didn't look at may differ: most hold whatever the function has there.
 *
 * A memo keeps, of one thread's last walk, where the words lay and a hash of their values. Memos
 * belong to a CPU and a nesting level, so no two walks write one. A thread's place follows from its
 * number (and from where it came, at system calls: memo_hash()); a later walk with the same place
 * replaces the memo. A walk that read anything but the stack, or too much of it, leaves no memo.
 */
#pragma once

#include "bpf/unwind/unwind_env.h"

/* Begins the memo of the walk that begins. */
static __always_inline void memo_begin(struct walk *walk)
{
	struct memo *memo = memo_at(walk->memo);

	if (!memo)
		return;
	memo->target_id = walk->head.target_id;
	memo->window = walk->head.window;
	memo->tid = walk->tid;
	memo->spans = walk->spans;
	memo->exact = walk->known & WALK_EXACT;
	memo->pc = walk->pc;
	memo->sp = walk->sp;
	memo->fp = walk->fp;
	memo->bx = walk->bx;
	memo->words_hash = 0;
	/* distances are in words of 64-bit code */
	memo->count = walk->sp & (ARCH_WORD - 1) || walk_is_narrow(walk) ? MEMO_VOID : 0;
}

/* Makes the memo void: the walk read memory outside of the stack, or memory that isn't there. */
static __always_inline void memo_void(struct walk *walk)
{
	struct memo *memo = memo_at(walk->memo);

	if (memo)
		memo->count = MEMO_VOID;
}

/* Notes a word of the stack that the walk read. */
static __always_inline void memo_note(struct walk *walk, uint64_t address, uint64_t word)
{
	struct memo *memo = memo_at(walk->memo);
	uint64_t at;
	uint32_t n;

	if (!memo)
		return;
	at = (address - memo->sp) / ARCH_WORD;
	n = memo->count;
	if (n >= MEMO_WORDS || at > MEMO_AT_MAX) {
		memo->count = MEMO_VOID;
		return;
	}
	memo->at[n] = at;
	memo->count = n + 1;
	memo->words_hash = hash_word(memo->words_hash, word);
}

static __always_inline void memo_end(struct walk *walk)
{
	struct memo *memo = memo_at(walk->memo);

	if (!memo)
		return;
	memo->user_hash = walk->head.key.hash;
	memo->truncated = walk->head.truncated;
	memo->frames_max = walk->frames_max;
	memo->used = walk->used;
}

static __always_inline bool memo_fits_regs(const struct walk *walk, const struct memo *memo)
{
	return memo->pc == walk->pc && memo->sp == walk->sp &&
	       (memo->fp == walk->fp || !(memo->used & WALK_FP)) &&
	       (memo->bx == walk->bx || !(memo->used & WALK_BX));
}

static __always_inline bool memo_fits(const struct walk *walk, const struct memo *memo)
{
	return memo->count < MEMO_VOID && memo_fits_regs(walk, memo) && memo->tid == walk->tid &&
	       memo->target_id == walk->head.target_id && memo->window == walk->head.window &&
	       memo->spans == walk->spans && memo->exact == (walk->known & WALK_EXACT) &&
	       (memo->truncated != TRUNCATED_DEPTH || memo->frames_max == walk->frames_max);
}
