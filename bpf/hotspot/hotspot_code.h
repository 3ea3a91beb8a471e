/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds how much of its frame an interrupted Java method has set up, from its code. x86-64.
 * HotSpot's compilers begin and end a method in this way (JDK 8 to 25):
 *
 *	TOP         mov   %eax, -0x14000(%rsp)	 is there stack?
 *	TOP         push  %rbp
 *	PUSHED      mov   %rsp, %rbp		 (stubs; with frame pointers)
 *	PUSHED      sub   $N, %rsp		 (BY_FP, after that mov)
 *	BODY        …
 *	BODY        add   $N, %rsp
 *	PUSHED      pop   %rbp
 *	TOP         cmp   off(%r15), %rsp; ja …	 is a stop wanted? (before JDK 17: test)
 *	TOP         ret
 *
 * and in this way, where the method doesn't check for stack:
 *
 *	TOP         sub   $N, %rsp
 *	HAS_FP      mov   %rbp, N - 16(%rsp)
 *
 * HotSpot's sources: src/hotspot/cpu/x86: x86_64.ad (MachPrologNode, MachEpilogNode),
 * c1_MacroAssembler_x86.cpp (build_frame), sharedRuntime_x86_64.cpp.
 */
#pragma once

#include "bpf/hotspot/hotspot_frame.h"

/* Where the caller's pc, sp and fp are. */
enum hotspot_place {
	PLACE_NOWHERE,
	PLACE_FRAME, /* the frame is complete */
	/* The frame is complete; the caller called this blob, or is the interpreter. */
	PLACE_FRAME_NEAR,
	PLACE_HAS_FP,	/* the frame is complete, but fp still has the caller's value */
	PLACE_TOP,	/* the return address lies at sp */
	PLACE_TOP_NEAR, /* like PLACE_TOP, near as in PLACE_FRAME_NEAR */
	PLACE_ON_FP,	/* the caller's fp lies at sp, then the return address */
	PLACE_BY_FP,	/* fp points to such a pair: the caller's fp, the return address */
	PLACE_AX,	/* the return address is in rax, and sp is the caller's */
	PLACE_CALLED,	/* like PLACE_AX; the caller is the interpreter, and fp is its frame */
	PLACE_AHEAD,	/* the code ahead tells the place (bpf/hotspot/hotspot_ahead.h) */
	/* The interpreter begins or ends a frame, with another sp than the caller's. */
	PLACE_ENTRY_TOP,
	PLACE_ENTRY_ON_FP,
	PLACE_ENTRY_BY_FP,
	PLACE_ENTRY_AX, /* the return address is in rax; below: in r13, rsi, rdi */
	PLACE_ENTRY_R13,
	PLACE_ENTRY_SI,
	PLACE_ENTRY_DI,
	PLACE_UNTOLD, /* the code doesn't tell */
};

int prologue_first(uint32_t level, uint32_t word);
int hotspot_prologue(uint32_t level);
int hotspot_place(uint32_t level);
int adapter_begin(uint32_t level, uint32_t word);
int hotspot_adapter(uint32_t level);

#if ARCH_REGS == 16

#define LOOK_WORDS     16 /* words read of the code; a power of two */
#define LOOK_BYTES     (LOOK_WORDS * 8)
#define LOOK_BEFORE    8		 /* bytes of them in front of pc */
#define PROLOGUE_BYTES (LOOK_BYTES - 16) /* only so many last bytes of a prologue are looked at */
#define PROLOGUE_NOT   0xffff

/* Returns a byte of the code that was read. */
static __always_inline uint32_t code_byte(const struct walk *walk, uint32_t at)
{
	return ((const uint8_t *)walk->python.words)[at & (LOOK_BYTES - 1)];
}

/* Returns whether these two bytes are at `at`. */
static __always_inline bool code_is(const struct walk *walk, uint32_t at, uint32_t first,
				    uint32_t second)
{
	return code_byte(walk, at) == first && code_byte(walk, at + 1) == second;
}

/* Returns the length of a sub $N, %rsp; 0: there is none. */
static __always_inline uint32_t code_sub_sp(const struct walk *walk, uint32_t at)
{
	if (code_byte(walk, at) != 0x48 || code_byte(walk, at + 2) != 0xec)
		return 0;
	if (code_byte(walk, at + 1) == 0x83)
		return 4;
	return code_byte(walk, at + 1) == 0x81 ? 7 : 0;
}

static __always_inline bool code_is_mov_fp(const struct walk *walk, uint32_t at)
{
	return code_byte(walk, at) == 0x48 &&
	       (code_is(walk, at + 1, 0x89, 0xe5) || code_is(walk, at + 1, 0x8b, 0xec));
}

/* Returns the 8 bytes of code that begin at a byte of a word, the first byte lowest. The searches
 * compare these, and search one word by a call of a global function: the verifier would walk a loop
 * over all bytes as often as there are bytes. */
static __always_inline uint64_t code_eight(const uint64_t *words, uint32_t byte)
{
	return words[0] >> byte * 8 | words[1] << 1 << (63 - byte * 8);
}

/* Returns whether the first change of sp in a method is at that byte: push %rbp with a sub $N, %rsp
 * or a mov %rsp, %rbp; or sub $N, %rsp with a mov %rbp, off(%rsp). */
static __always_inline bool code_is_first(const uint64_t *words, uint32_t byte)
{
	uint64_t code = code_eight(words, byte);
	uint32_t half = (uint32_t)code;

	if ((half & 0xff) == 0x55)
		return (half & ~0x20000U) == 0xec814855 || half == 0xe5894855 || half == 0xec8b4855;
	if ((half & 0xffffff) == 0xec8348)
		return (code >> 32 & 0xff3fffff) == 0x242c8948;
	return (half & 0xffffff) == 0xec8148 &&
	       (code_eight(words + (byte + 7) / 8, (byte + 7) % 8) & 0xff3fffff) == 0x242c8948;
}

/* Returns where in the code that was read the first change of sp is, if that is in this word;
 * PROLOGUE_NOT: it isn't. */
__noinline int prologue_first(uint32_t level, uint32_t word)
{
	struct walk *walk = walk_at(level);
	const uint64_t *words;

	if (!walk)
		return PROLOGUE_NOT;
	words = &walk->python.words[word & (LOOK_WORDS - 1)];
	for (uint32_t byte = 0; byte < 8; byte++) {
		if (code_is_first(words, byte))
			return (int)(word * 8 + byte);
	}
	return PROLOGUE_NOT;
}

/* Returns where the first change of sp is, counted from the blob's code on; PROLOGUE_NOT: not
 * found. python.words then hold the code from max(complete - PROLOGUE_BYTES, 0) on. */
__noinline int hotspot_prologue(uint32_t level)
{
	struct walk *walk = walk_at(level);
	const struct hotspot_blob *blob;
	uint32_t from, first;

	if (!walk)
		return PROLOGUE_NOT;
	blob = &walk->hotspot.blob;
	if (blob->complete <= 0 || blob->complete > PROLOGUE_NOT)
		return PROLOGUE_NOT;
	from = blob->complete > PROLOGUE_BYTES ? blob->complete - PROLOGUE_BYTES : 0;
	if (read_user(walk->python.words, LOOK_BYTES, blob->code + from))
		return PROLOGUE_NOT;
	for (uint32_t word = 0; word < PROLOGUE_BYTES / 8; word++) {
		first = prologue_first(level, word);
		if (first != PROLOGUE_NOT)
			return from + first;
	}
	return PROLOGUE_NOT;
}

/* Returns the place of a pc before the frame is complete. */
static __always_inline uint32_t code_place_early(struct walk *walk)
{
	uint32_t first = hotspot_prologue(walk->level), from = first;
	uint64_t at = walk->pc - walk->hotspot.blob.code;

	if (first == PROLOGUE_NOT)
		return PLACE_UNTOLD;
	if (at <= first)
		return PLACE_TOP;
	if (walk->hotspot.blob.complete > PROLOGUE_BYTES)
		from -= walk->hotspot.blob.complete - PROLOGUE_BYTES;
	at -= first;
	if (code_byte(walk, from) != 0x55)
		return at > code_sub_sp(walk, from) ? PLACE_FRAME : PLACE_HAS_FP;
	if (code_is_mov_fp(walk, from + 1))
		return at < 4 ? PLACE_ON_FP : PLACE_BY_FP;
	return at == 1 ? PLACE_ON_FP : PLACE_FRAME;
}

/* Returns whether a jump to other code follows the frame's end: jmp rel32, jmp *reg. */
static __always_inline bool code_is_jump(const struct walk *walk, uint32_t at)
{
	return code_byte(walk, at) == 0xe9 || code_is(walk, at, 0xff, 0xe0) ||
	       code_is(walk, at, 0xff, 0xe1) || code_is(walk, at, 0x41, 0xff);
}

/* Returns whether the code checks for a wanted stop, between a frame's end and the return. */
static __always_inline bool code_is_poll(const struct walk *walk, uint32_t at)
{
	if (code_is(walk, at, 0x49, 0x3b)) /* cmp off(%r15), %rsp */
		return code_byte(walk, at + 2) == 0xa7 || code_byte(walk, at + 2) == 0x67;
	if (code_is(walk, at, 0x0f, 0x87) || code_is(walk, at, 0x0f, 0x85) || /* ja, jne … */
	    code_is(walk, at, 0x85, 0x05)) /* test %eax, off(%rip) */
		return code_byte(walk, at + 6) == 0xc3;
	if (code_is(walk, at, 0x41, 0x85)) /* test %eax, (%r10) */
		return code_byte(walk, at + 3) == 0xc3;
	if (code_is(walk, at, 0x4d, 0x8b)) /* mov off(%r15), %r10; test …; ret */
		return (code_is(walk, at + 7, 0x41, 0x85) && code_byte(walk, at + 10) == 0xc3) ||
		       (code_is(walk, at + 4, 0x41, 0x85) && code_byte(walk, at + 7) == 0xc3);
	/* Where a stop is wanted: movabs $pc, %r10; mov %r10, off(%r15); jmp */
	if (code_is(walk, at, 0x49, 0xba))
		return code_is(walk, at + 10, 0x4d, 0x89) && code_byte(walk, at + 17) == 0xe9;
	if (code_is(walk, at, 0x4c, 0x8d)) /* lea pc, %r10; … */
		return code_is(walk, at + 7, 0x4d, 0x89) && code_byte(walk, at + 14) == 0xe9;
	if (code_is(walk, at, 0x4d, 0x89))
		return code_byte(walk, at + 7) == 0xe9;
	return code_byte(walk, at) == 0xe9 && code_is(walk, at - 7, 0x4d, 0x89);
}

/* Returns the place of a pc, by the instruction itself and the one before. */
static __always_inline uint32_t code_place(struct walk *walk)
{
	uint32_t at = LOOK_BEFORE, before;

	if (read_user(walk->python.words, LOOK_BYTES, walk->pc - LOOK_BEFORE))
		return PLACE_UNTOLD;
	if (code_byte(walk, at) == 0xc5 && code_is(walk, at + 1, 0xf8, 0x77)) /* vzeroupper */
		at += 3;
	before = code_byte(walk, LOOK_BEFORE - 1);
	if (code_byte(walk, at) == 0x5d) /* pop %rbp */
		return PLACE_ON_FP;
	if (before == 0x55 && code_is_mov_fp(walk, LOOK_BEFORE))
		return PLACE_ON_FP;
	if (code_byte(walk, at) == 0xc3 || code_byte(walk, at) == 0x55) /* ret, push %rbp */
		return PLACE_TOP;
	if (at == LOOK_BEFORE &&
	    (code_is_poll(walk, at) || (before == 0x5d && code_is_jump(walk, at))))
		return PLACE_TOP;
	if (before == 0xc9 && (code_is(walk, at, 0x49, 0x81) || code_is(walk, at, 0x49, 0x83)))
		return PLACE_TOP; /* leave; cmpq $0, off(%r15) */
	return PLACE_UNTOLD;
}

#define ADAPTER_AT 112 /* bytes in front of pc that are looked at; whole words */

/*
 * Returns whether an adapter from compiled code to the interpreter begins at that byte of a word:
 * it takes the return address, tells the caller's sp and makes room for the parameters.
 *
 *	pop %rax; mov %rsp, %r13; sub $N, %rsp; mov %rax, (%rsp)	JDK 8, 17
 *	lea 8(%rsp), %r13; pop %rax; sub $N, %rsp; push %rax		JDK 25
 */
static __always_inline bool code_is_adapter(const uint64_t *words, uint32_t byte)
{
	uint64_t code = code_eight(words, byte);

	if ((code & 0xffffffff) == 0xec8b4c58)
		return (code >> 32 & 0xfffdff) == 0xec8148;
	return (code & ~(0x2ULL << 56)) == 0x81485808246c8d4c &&
	       (words[1] >> byte * 8 & 0xff) == 0xec;
}

#define ADAPTER_ENDS LOOK_BYTES
#define ADAPTER_NOT  (LOOK_BYTES + 1)

/* Returns where in the code that was read the last adapter begins, if that is in this word.
 * ADAPTER_ENDS: an adapter ends in this word, and none begins behind; ADAPTER_NOT: neither. */
__noinline int adapter_begin(uint32_t level, uint32_t word)
{
	struct walk *walk = walk_at(level);
	const uint64_t *words;

	if (!walk)
		return ADAPTER_NOT;
	words = &walk->python.words[word & (LOOK_WORDS - 1)];
	for (uint32_t byte = 8; byte-- > 0;) {
		if (code_is_adapter(words, byte))
			return (int)(word * 8 + byte);
		if ((code_eight(words, byte) & 0xffff) == 0xe1ff) /* the end: jmp *%rcx */
			return ADAPTER_ENDS;
	}
	return ADAPTER_NOT;
}

/* Returns the place of an instruction at `at` in the adapter that begins at `begin`. */
static __always_inline uint32_t adapter_place(const struct walk *walk, uint32_t begin, uint32_t at)
{
	uint32_t sub = begin + (code_byte(walk, begin) == 0x58 ? 4 : 6);

	if (at == begin + 1) /* after the pop */
		return PLACE_AX;
	if (sub == begin + 6 && at == begin + 5) /* before the pop */
		return PLACE_TOP;
	if (at < sub + code_sub_sp(walk, sub) + (sub == begin + 6 ? 1 : 4))
		return PLACE_ENTRY_AX;
	return PLACE_ENTRY_TOP;
}

/* Returns the place of pc in such an adapter; PLACE_UNTOLD: pc is in none. */
__noinline int hotspot_adapter(uint32_t level)
{
	struct walk *walk = walk_at(level);
	uint32_t begin = ADAPTER_NOT;

	if (!walk || read_user(walk->python.words, LOOK_BYTES, walk->pc - ADAPTER_AT))
		return PLACE_UNTOLD;
	for (uint32_t word = ADAPTER_AT / 8; word-- > 0 && begin == ADAPTER_NOT;)
		begin = adapter_begin(level, word);
	return begin < LOOK_BYTES ? adapter_place(walk, begin, ADAPTER_AT) : PLACE_UNTOLD;
}

/* Returns the place of the interrupted current frame; PLACE_UNTOLD: mostly in its body. */
__noinline int hotspot_place(uint32_t level)
{
	struct walk *walk = walk_at(level);
	const struct hotspot_blob *blob;

	if (!walk)
		return PLACE_NOWHERE;
	blob = &walk->hotspot.blob;
	if (blob->frame_words && blob->complete > 0 &&
	    walk->pc - blob->code < (uint64_t)blob->complete)
		return code_place_early(walk);
	return code_place(walk);
}

#endif
