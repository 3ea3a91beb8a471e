/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the frame of code that has put something on the stack for a while, so sp is lower than
 * usual. The code ahead tells how far, for it gives all of that back. x86-64. JDK 8 to 25:
 *
 *	push off(%rsp); pop off(%rsp)        a value moves within the frame
 *	sub $8, %rsp; ...; add $8, %rsp      the processor's floating point: %, JDK 8's Math
 *	push %rax; ... repne scas; pop %rax  is it a subclass?
 *	mov %rsp, %rcx; ...; push %rcx; ...; pop %rsp    String.indexOf()
 *	sub $8, %rsp; ...; call; pop %rax    (int)NaN
 *
 * The code is followed from pc on, instruction by instruction, until
 *
 *	ret                      the return address lies where sp has come to
 *	leave; mov %rbp, %rsp    the return address lies by fp
 *	pop %rsp                 sp is on the stack
 *	add $N, %rsp; pop %rbp   a method's frame ends: sp is as usual
 *
 * or for AHEAD_STEPS instructions. A jump forward is followed. At a branch the walk goes on without
 * jumping; where that way ends (a jump back, or out of the bytes that were read), the branch with
 * the nearest target is taken.
 */
#pragma once

#include "bpf/hotspot/hotspot_code.h"
#include "bpf/unwind/x86_code.h"

/* How following the code ahead ended. */
enum hotspot_end {
	AHEAD_ON,
	AHEAD_UNTOLD,
	AHEAD_RETURN,
	AHEAD_BY_FP,
	AHEAD_SAVED_SP,
	AHEAD_FRAME,
	AHEAD_LOST, /* sp has been lowered by an unknown number of bytes */
};

int hotspot_follow(uint32_t level);
int hotspot_ahead(uint32_t level);

#if ARCH_REGS == 16

#define AHEAD_STEPS 64
#define AHEAD_MOST  4096 /* bytes that code puts on the stack for a while, at most */
#define NUMBER_SP   4	 /* numbers of registers in instructions */
#define NUMBER_FP   5

/* ---- where it goes ---- */

static __always_inline void ahead_end(struct hotspot_look *look, enum hotspot_end end)
{
	look->end = end;
}

/* Ends this way; goes on at the branch that was passed, if there is one. */
static __always_inline void ahead_way_ends(struct hotspot_look *look)
{
	if (!look->branch) {
		ahead_end(look, AHEAD_UNTOLD);
		return;
	}
	look->is.next = look->branch;
	look->given = look->branch_given;
	look->branch = 0;
}

/* Returns the immediate at the end of the instruction, of one byte or four. */
static __always_inline int32_t ahead_immediate(const struct walk *walk, bool is_byte)
{
	uint32_t next = walk->hotspot.look.is.next;

	return is_byte ? (int8_t)x86_byte(walk, next - 1) : x86_int(walk, next - 4);
}

/* Returns the target of the jump that was decoded last. */
static __always_inline uint32_t ahead_target(const struct walk *walk, bool is_near)
{
	return walk->hotspot.look.is.next + (uint32_t)ahead_immediate(walk, is_near);
}

static __always_inline void ahead_jump(struct walk *walk, bool is_near)
{
	struct hotspot_look *look = &walk->hotspot.look;
	uint32_t target = ahead_target(walk, is_near);

	if (target >= look->is.next && target < X86_CODE_BYTES)
		look->is.next = target;
	else
		ahead_way_ends(look);
}

static __always_inline void ahead_branch(struct walk *walk, bool is_near)
{
	struct hotspot_look *look = &walk->hotspot.look;
	uint32_t target = ahead_target(walk, is_near);

	if (target < look->is.next || target >= X86_CODE_BYTES ||
	    (look->branch && look->branch <= target))
		return;
	look->branch = target;
	look->branch_given = look->given;
}

/* Gives back so many bytes of the stack, modulo 2^32: hostile code may have any number. */
static __always_inline void ahead_give(struct hotspot_look *look, uint32_t bytes)
{
	look->given = (int32_t)((uint32_t)look->given + bytes);
}

/* Takes an add, sub or and to sp. */
static __always_inline void ahead_reckon(struct walk *walk, bool is_byte)
{
	struct hotspot_look *look = &walk->hotspot.look;

	if (look->is.rex != 0x48)
		return;
	if (look->is.modrm == 0xe4) /* and */
		ahead_way_ends(look);
	else if (look->is.modrm == 0xec)
		ahead_give(look, -(uint32_t)ahead_immediate(walk, is_byte));
	else if (look->is.modrm == 0xc4 && x86_byte(walk, look->is.next) == 0x5d &&
		 walk->hotspot.blob.frame_words)
		ahead_end(look, AHEAD_FRAME);
	else if (look->is.modrm == 0xc4)
		ahead_give(look, (uint32_t)ahead_immediate(walk, is_byte));
}

static __always_inline void ahead_pop(struct hotspot_look *look)
{
	if (look->is.opcode == 0x5c && !(look->is.rex & REX_B)) {
		if (look->given < 0 && look->sp_copy && look->pushed == look->sp_copy)
			look->given = look->sp_given;
		else
			ahead_end(look, AHEAD_SAVED_SP);
		return;
	}
	if (look->is.opcode == 0x5d && !(look->is.rex & REX_B))
		look->fp_given = (int32_t)((uint32_t)look->given + ARCH_WORD);
	ahead_give(look, ARCH_WORD);
}

/* Takes a mov: `to` is the register that is changed, `from` the other one. */
static __always_inline void ahead_move(struct hotspot_look *look, uint32_t to, uint32_t from)
{
	if (from == NUMBER_SP && !look->sp_copy) {
		look->sp_copy = to;
		look->sp_given = look->given;
	}
	if (to != NUMBER_SP)
		return;
	if (from == NUMBER_FP)
		ahead_end(look, AHEAD_BY_FP);
	else
		ahead_way_ends(look);
}

/* Takes a lea: of sp and a number, to sp. */
static __always_inline void ahead_address(struct walk *walk, uint32_t to)
{
	struct hotspot_look *look = &walk->hotspot.look;
	bool is_byte = look->is.modrm == 0x64;

	if (to != NUMBER_SP)
		return;
	if (look->is.rex == 0x48 && (is_byte || look->is.modrm == 0xa4) &&
	    x86_byte(walk, look->is.next - (is_byte ? 2 : 5)) == 0x24)
		ahead_give(look, (uint32_t)ahead_immediate(walk, is_byte));
	else
		ahead_way_ends(look);
}

/* Takes the instruction that was decoded last. */
static __always_inline void ahead_take(struct walk *walk)
{
	struct hotspot_look *look = &walk->hotspot.look;
	const struct x86_instruction *is = &look->is;
	uint32_t reg = (is->modrm >> 3 & 7) | (is->rex & REX_R) << 1;
	uint32_t rm = (is->modrm & 7) | (is->rex & REX_B) << 3;

	switch (is->opcode) {
	case 0x50 ... 0x57: /* push */
		look->pushed = (is->opcode & 7) | (is->rex & REX_B) << 3;
		ahead_give(look, -(uint32_t)ARCH_WORD);
		break;
	case 0x68:
	case 0x6a:
	case 0x9c:
		ahead_give(look, -(uint32_t)ARCH_WORD);
		break;
	case 0x58 ... 0x5f:
		ahead_pop(look);
		break;
	case 0x8f: /* pop to memory */
	case 0x9d:
		ahead_give(look, ARCH_WORD);
		break;
	case 0x70 ... 0x7f:
		ahead_branch(walk, true);
		break;
	case SECOND(0x80)... SECOND(0x8f):
		ahead_branch(walk, false);
		break;
	case 0x81:
	case 0x83:
		ahead_reckon(walk, is->opcode == 0x83);
		break;
	case 0x89: /* mov */
		if (is->modrm >= 0xc0)
			ahead_move(look, rm, reg);
		break;
	case 0x8b:
		ahead_move(look, reg, is->modrm >= 0xc0 ? rm : ~0U);
		break;
	case 0x8d:
		ahead_address(walk, reg);
		break;
	case 0xc2:
	case 0xc3:
		ahead_end(look, AHEAD_RETURN);
		break;
	case 0xc9:
		ahead_end(look, AHEAD_BY_FP);
		break;
	case 0xcc:
	case 0xf4:
	case SECOND(0x0b):
		ahead_way_ends(look);
		break;
	case 0xe9:
	case 0xeb:
		ahead_jump(walk, is->opcode == 0xeb);
		break;
	case 0xff:
		if ((reg & 7) == 6) /* push */
			ahead_give(look, -(uint32_t)ARCH_WORD);
		else if ((reg & 6) == 4) /* jmp */
			ahead_way_ends(look);
		break;
	}
}

/* Follows one instruction. Returns 0 if the end is reached (look.end). */
__noinline int hotspot_follow(uint32_t level)
{
	struct walk *walk = walk_at(level);
	struct hotspot_look *look;

	if (!walk)
		return 0;
	look = &walk->hotspot.look;
	if (look->branch && look->is.next >= look->branch)
		look->branch = 0;
	look->is.at = look->is.next;
	if (look->is.at > X86_CODE_BYTES - X86_LONGEST) {
		ahead_end(look, AHEAD_UNTOLD);
		return 0;
	}
	x86_decode(level);
	ahead_take(walk);
	if (look->given > look->most)
		look->most = look->given;
	return look->end == AHEAD_ON;
}

/* Returns where the return address lies, by how the code ended; 0: not known. */
static __always_inline uint64_t ahead_pc_at(struct walk *walk)
{
	struct hotspot_look *look = &walk->hotspot.look;
	uint64_t bytes = (uint64_t)walk->hotspot.blob.frame_words * ARCH_WORD;
	uint64_t sp = walk->sp + (uint64_t)(int64_t)look->most;

	if (!bytes)
		return look->end == AHEAD_RETURN ? walk->sp + (uint64_t)(int64_t)look->given : 0;
	if ((look->end == AHEAD_UNTOLD && look->most > 0 && look->sp_copy) ||
	    (look->end == AHEAD_SAVED_SP &&
	     (look->given < 0 || !read_word(walk, walk->sp + (uint64_t)look->given, &sp) ||
	      sp - walk->sp - 1 >= AHEAD_MOST)))
		ahead_end(look, AHEAD_LOST);
	if (look->end == AHEAD_LOST)
		return 0;
	if (sp - walk->sp - 1 >= AHEAD_MOST)
		return 0;
	return sp + bytes - ARCH_WORD;
}

/* Sets look.pc_at and look.fp_at to where the caller's pc and fp lie. Returns 0 if the code doesn't
 * tell, or sp is as usual. */
__noinline int hotspot_ahead(uint32_t level)
{
	struct walk *walk = walk_at(level);
	struct hotspot_look *look;

	if (!walk)
		return 0;
	look = &walk->hotspot.look;
	*look = (struct hotspot_look){};
	if (!hotspot_read(level, HOTSPOT_BLOB_WORDS_MAX, walk->pc))
		return 0;
	for (uint32_t i = 0; i < AHEAD_STEPS; i++) {
		if (!hotspot_follow(level))
			break;
	}
	if (look->end == AHEAD_ON)
		ahead_end(look, AHEAD_UNTOLD);
	look->pc_at = ahead_pc_at(walk);
	if (walk->hotspot.blob.frame_words)
		look->fp_at = look->pc_at - ARCH_WORD;
	else if (look->fp_given > 0)
		look->fp_at = walk->sp + (uint64_t)look->fp_given - ARCH_WORD;
	return look->pc_at >= walk->sp && !(look->pc_at & (ARCH_WORD - 1));
}

#endif
