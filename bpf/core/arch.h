/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Differences between processors: registers, where the kernel saves the user's registers, and the
 * form of calls and frames. Registers have their DWARF numbers.
 */
#pragma once

#ifdef __bpf__
#include "bpf/core/kernel_types.h"
#else
#include <stdbool.h>
#include <stdint.h>
#endif

#if defined(__TARGET_ARCH_arm64) || (!defined(__bpf__) && defined(__aarch64__))
#define ARCH_REGS 32
#else
#define ARCH_REGS 16
#endif

/* Registers with which the walk of a user stack begins. */
struct user_regs {
	uint64_t pc;
	uint64_t gpr[ARCH_REGS];
	bool wide; /* the code is 64-bit */
};

#if defined(__TARGET_ARCH_x86) || (!defined(__bpf__) && defined(__x86_64__))

/* System V ABI, AMD64 supplement, figure 3.36 */
#define ARCH_BX	  3
#define ARCH_FP	  6
#define ARCH_SP	  7

#define ARCH_WORD 8 /* bytes */

/* The return address is always right below the CFA, whatever else was saved; it is never in a
 * register. */
#define ARCH_RETURN_REG		 ARCH_REGS
#define ARCH_RETURN_WORDS(saved) 1
#define ARCH_WALKS_NARROW	 1 /* 32-bit code is walked, by its files' tables */
#define ARCH_WALKS_LUAJIT	 1 /* by bpf/unwind/unwind_luajit.h */
#define ARCH_FRAME_TELLS_SP	 1 /* the end of the pair that fp points to is the caller's sp */

/* Distance from sp to the CFA at the first instruction of a function. */
#define ARCH_ENTRY_WORDS 1

/*
 * A signal frame: struct rt_sigframe. When the handler returns, sp points to the frame's ucontext
 * (arch/x86/include/asm/sigframe.h, uapi/asm/sigcontext.h). glibc and the kernel describe the frame
 * by these distances from sp.
 */
#define ARCH_CONTEXT	   40 /* the interrupted registers */
#define ARCH_CONTEXT_SP	   (ARCH_CONTEXT + 15 * ARCH_WORD)
#define ARCH_CONTEXT_PC	   (ARCH_CONTEXT + 16 * ARCH_WORD)
#define ARCH_CONTEXT_ORDER 0x76543210fa89becdULL /* nibble n: the slot of register n */

static __always_inline uint32_t arch_context_slot(uint32_t reg)
{
	return ARCH_CONTEXT_ORDER >> (reg * 4 % 64) & 15;
}

/* Returns the address of the code that a return address leads to. */
static __always_inline uint64_t arch_code_address(uint64_t address)
{
	return address;
}

/* Bytes of code that are read in front of a return address. */
#define ARCH_CALL_BYTES 8

/* Returns whether these bytes end with a call: call rel32 (E8), or call r/m (FF /2) in one of its
 * lengths; Intel's manual, volume 2, 2.1. */
static __always_inline bool arch_ends_with_call(const uint8_t code[ARCH_CALL_BYTES])
{
	const uint8_t *end = code + ARCH_CALL_BYTES;
	uint8_t modrm;

	if (end[-5] == 0xe8)
		return true;
	modrm = end[-1];
	if (end[-2] == 0xff && (modrm & 0x38) == 0x10 &&
	    ((modrm & 0xc0) == 0xc0 ||
	     ((modrm & 0xc0) == 0 && (modrm & 7) != 4 && (modrm & 7) != 5)))
		return true; /* call reg, [reg] */
	modrm = end[-2];
	if (end[-3] == 0xff && (modrm & 0x38) == 0x10 &&
	    (((modrm & 0xc0) == 0x40 && (modrm & 7) != 4) ||
	     ((modrm & 0xc0) == 0 && (modrm & 7) == 4)))
		return true; /* call [reg + disp8], [reg + reg * n] */
	modrm = end[-3];
	if (end[-4] == 0xff && (modrm & 0xff) == 0x54)
		return true; /* call [reg + reg * n + disp8] */
	modrm = end[-5];
	if (end[-6] == 0xff && (modrm & 0x38) == 0x10 &&
	    (((modrm & 0xc0) == 0x80 && (modrm & 7) != 4) || modrm == 0x15))
		return true; /* call [reg + disp32], [rip + disp32] */
	modrm = end[-6];
	return end[-7] == 0xff && (modrm == 0x94 || modrm == 0x14);
}

/* Returns the target of the direct call at the end of these bytes; 0: they end with another
 * call. */
static __always_inline uint64_t arch_call_target(const uint8_t code[ARCH_CALL_BYTES],
						 uint64_t return_address)
{
	uint32_t distance = code[4] | code[5] << 8 | code[6] << 16 | (uint32_t)code[7] << 24;

	return code[3] == 0xe8 ? return_address + (uint64_t)(int64_t)(int32_t)distance : 0;
}

/* How far a function that keeps frame pointers is at an instruction. */
enum arch_place { PLACE_BODY, PLACE_ENTRY, PLACE_PUSHED };

/* mov rbp, rsp; or ebp, esp: in both encodings. */
static __always_inline bool arch_sets_fp(uint8_t first, uint8_t second)
{
	return (first == 0x89 && second == 0xe5) || (first == 0x8b && second == 0xec);
}

/* Returns the place of an instruction, from its bytes. ENTRY: sp points to the return address (at
 * the push of the caller's fp, or at the return). PUSHED: the caller's fp lies on the return
 * address (at the `mov` after that push). */
static __always_inline enum arch_place arch_place(const uint8_t code[ARCH_CALL_BYTES], bool narrow)
{
	if (code[0] == 0x55 || code[0] == 0xc3) /* push rbp; ret */
		return PLACE_ENTRY;
	if (narrow && code[0] == 0x8b && (code[1] & 0xc7) == 4 && code[2] == 0x24 &&
	    code[3] == 0xc3)
		return PLACE_ENTRY; /* mov (%esp), reg; ret: how 32-bit code learns its address */
	if (code[0] == 0xf3 && code[1] == 0x0f && code[2] == 0x1e && code[3] == 0xfa + narrow &&
	    code[4] == 0x55) /* endbr64 or endbr32; push rbp */
		return PLACE_ENTRY;
	if (narrow ? arch_sets_fp(code[0], code[1])
		   : code[0] == 0x48 && arch_sets_fp(code[1], code[2]))
		return PLACE_PUSHED;
	return PLACE_BODY;
}

/* Returns whether an instruction and the next one are the last ones of a function: they free *words
 * of the stack and return. */
static __always_inline bool arch_leaves(const uint8_t code[ARCH_CALL_BYTES], uint32_t *words)
{
	*words = code[3] / ARCH_WORD;
	return code[0] == 0x48 && code[1] == 0x83 && code[2] == 0xc4 && /* add $8, %rsp; ret */
	       code[3] < 0x80 && code[3] % ARCH_WORD == 0 && code[4] == 0xc3;
}

/* Words that the code of a probed return pushes before it calls the kernel. The code pops all of
 * these words but the last, where the kernel puts the return address (arch/x86/kernel/uprobes.c:
 * uretprobe_trampoline_entry; since 6.11, before it is a breakpoint). */
#define ARCH_PROBE_WORDS 3

/* Returns how many words lie on the return address at these instructions, which are pops and a
 * return; more than ARCH_PROBE_WORDS: they are other instructions. */
static __always_inline uint32_t arch_words_until_return(const uint8_t code[ARCH_CALL_BYTES])
{
	if (code[0] == 0xc3) /* ret */
		return 0;
	if (code[0] == 0x59 && code[1] == 0xc3) /* pop rcx; ret */
		return 1;
	if (code[0] == 0x41 && code[1] == 0x5b && code[2] == 0x59 && code[3] == 0xc3)
		return 2; /* pop r11; … */
	return ARCH_PROBE_WORDS + 1;
}

#ifdef __bpf__

#define USER_CS		 0x33  /* arch/x86/include/asm/segment.h: __USER_CS, 64-bit user code */
#define THREAD_BYTES	 16384 /* arch/x86/include/asm/page_64_types.h: THREAD_SIZE without KASAN */

#define SAVED_REGS_BYTES sizeof(struct pt_regs)

static __always_inline bool regs_are_user(const struct pt_regs *regs)
{
	return regs->cs & 3;
}

static __always_inline void regs_take(struct user_regs *to, const struct pt_regs *from)
{
	to->pc = from->rip;
	to->gpr[0] = from->rax;
	to->gpr[1] = from->rdx;
	to->gpr[2] = from->rcx;
	to->gpr[3] = from->rbx;
	to->gpr[4] = from->rsi;
	to->gpr[5] = from->rdi;
	to->gpr[6] = from->rbp;
	to->gpr[7] = from->rsp;
	to->gpr[8] = from->r8;
	to->gpr[9] = from->r9;
	to->gpr[10] = from->r10;
	to->gpr[11] = from->r11;
	to->gpr[12] = from->r12;
	to->gpr[13] = from->r13;
	to->gpr[14] = from->r14;
	to->gpr[15] = from->r15;
	to->wide = from->cs == USER_CS;
}

#endif

#elif defined(__TARGET_ARCH_arm64) || (!defined(__bpf__) && defined(__aarch64__))
#include "bpf/core/arch_arm64.h"
#else
#error "stackprobe's kernel side knows x86-64 and arm64 only"
#endif
