/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decoder of the lengths of x86-64 instructions, of programs (not of the kernel): Intel's manual,
 * volume 2, chapter 2 and appendix A. The tables say what follows an opcode, by its number, in each
 * of the first two maps. Opcodes of 0f 38 have a ModRM byte, those of 0f 3a another byte behind it.
 */
#pragma once

#include "bpf/unwind/unwind_nocfi.h"

#if ARCH_REGS == 16

#define X86_MODRM  16 /* a ModRM byte, and the bytes that it asks for */
#define X86_PREFIX 32 /* the byte is a prefix */
#define X86_NARROW 64 /* prefix 66 */

/* Kinds of immediates, in the low 4 bits: */
#define X86_IMMEDIATE 15
#define X86_BYTE      1
#define X86_SHORT     2
#define X86_INT	      3 /* 4 bytes; 2 with prefix 66 */
#define X86_WIDE      4 /* the same; 8 bytes with REX.W */
#define X86_LONG      5
#define X86_IF_BYTE   6 /* group 3: a byte if the instruction is a test, else none */
#define X86_IF_INT    7

#define X86_ALU(first)                                                                             \
	[(first)...(first) + 3] = X86_MODRM, [(first) + 4] = X86_BYTE, [(first) + 5] = X86_INT

static const uint8_t x86_first[256] = {
	X86_ALU(0x00),
	X86_ALU(0x08),
	X86_ALU(0x10),
	X86_ALU(0x18),
	X86_ALU(0x20),
	X86_ALU(0x28),
	X86_ALU(0x30),
	X86_ALU(0x38),
	[0x26] = X86_PREFIX,
	[0x2e] = X86_PREFIX,
	[0x36] = X86_PREFIX,
	[0x3e] = X86_PREFIX,
	[0x63] = X86_MODRM,
	[0x64 ... 0x65] = X86_PREFIX,
	[0x66] = X86_PREFIX | X86_NARROW,
	[0x68] = X86_INT,
	[0x69] = X86_MODRM | X86_INT,
	[0x6a] = X86_BYTE,
	[0x6b] = X86_MODRM | X86_BYTE,
	[0x70 ... 0x7f] = X86_BYTE,
	[0x80] = X86_MODRM | X86_BYTE,
	[0x81] = X86_MODRM | X86_INT,
	[0x83] = X86_MODRM | X86_BYTE,
	[0x84 ... 0x8f] = X86_MODRM,
	[0xa0 ... 0xa3] = X86_LONG,
	[0xa8] = X86_BYTE,
	[0xa9] = X86_INT,
	[0xb0 ... 0xb7] = X86_BYTE,
	[0xb8 ... 0xbf] = X86_WIDE,
	[0xc0 ... 0xc1] = X86_MODRM | X86_BYTE,
	[0xc2] = X86_SHORT,
	[0xc6] = X86_MODRM | X86_BYTE,
	[0xc7] = X86_MODRM | X86_INT,
	[0xcd] = X86_BYTE,
	[0xd0 ... 0xd3] = X86_MODRM,
	[0xd8 ... 0xdf] = X86_MODRM,
	[0xe0 ... 0xe7] = X86_BYTE,
	[0xe8 ... 0xe9] = X86_INT,
	[0xeb] = X86_BYTE,
	[0xf0] = X86_PREFIX,
	[0xf2 ... 0xf3] = X86_PREFIX,
	[0xf6] = X86_MODRM | X86_IF_BYTE,
	[0xf7] = X86_MODRM | X86_IF_INT,
	[0xfe ... 0xff] = X86_MODRM,
};

static const uint8_t x86_second[256] = {
	[0x00 ... 0x03] = X86_MODRM,
	[0x0d] = X86_MODRM,
	[0x10 ... 0x2f] = X86_MODRM,
	[0x40 ... 0x6f] = X86_MODRM,
	[0x70 ... 0x73] = X86_MODRM | X86_BYTE,
	[0x74 ... 0x76] = X86_MODRM,
	[0x78 ... 0x7f] = X86_MODRM,
	[0x80 ... 0x8f] = X86_INT,
	[0x90 ... 0x9f] = X86_MODRM,
	[0xa3] = X86_MODRM,
	[0xa4] = X86_MODRM | X86_BYTE,
	[0xa5] = X86_MODRM,
	[0xab] = X86_MODRM,
	[0xac] = X86_MODRM | X86_BYTE,
	[0xad ... 0xb9] = X86_MODRM,
	[0xba] = X86_MODRM | X86_BYTE,
	[0xbb ... 0xc1] = X86_MODRM,
	[0xc2] = X86_MODRM | X86_BYTE,
	[0xc3] = X86_MODRM,
	[0xc4 ... 0xc6] = X86_MODRM | X86_BYTE,
	[0xc7] = X86_MODRM,
	[0xd0 ... 0xff] = X86_MODRM,
};

int x86_decode(uint32_t level);

#define X86_CODE_BYTES (PYTHON_STATE_WORDS * 8) /* bytes of code that are read, to python.words */
#define X86_LONGEST    16			/* every instruction is shorter */

#define REX_B	       1
#define REX_R	       4
#define REX_W	       8

/* Number of an opcode of the second map. */
#define SECOND(opcode) (0x100 + (opcode))

static __always_inline uint32_t x86_byte(const struct walk *walk, uint32_t at)
{
	return ((const uint8_t *)walk->python.words)[at & (X86_CODE_BYTES - 1)];
}

static __always_inline int32_t x86_int(const struct walk *walk, uint32_t at)
{
	return (int32_t)(x86_byte(walk, at) | x86_byte(walk, at + 1) << 8 |
			 x86_byte(walk, at + 2) << 16 | x86_byte(walk, at + 3) << 24);
}

/* Returns the length of a ModRM byte and the bytes that it asks for. */
static __always_inline uint32_t x86_modrm_bytes(const struct walk *walk, uint32_t at)
{
	uint32_t modrm = x86_byte(walk, at), bytes = 1;
	bool has_sib = modrm < 0xc0 && (modrm & 7) == 4;

	if (has_sib)
		bytes++;
	if (modrm >> 6 == 1)
		return bytes + 1;
	if (modrm >> 6 == 2)
		return bytes + 4;
	if (modrm < 0x40 && (has_sib ? x86_byte(walk, at + 1) & 7 : modrm & 7) == 5)
		return bytes + 4;
	return bytes;
}

/* `narrow` is 1 with prefix 66, else 0. */
static __always_inline uint32_t x86_immediate_bytes(uint32_t form, uint32_t rex, uint32_t narrow,
						    uint32_t modrm)
{
	bool is_test = (modrm >> 3 & 7) < 2;

	switch (form & X86_IMMEDIATE) {
	case X86_BYTE:
		return 1;
	case X86_SHORT:
		return 2;
	case X86_LONG:
		return 8;
	case X86_WIDE:
		if (rex & REX_W)
			return 8;
		break;
	case X86_INT:
		break;
	case X86_IF_BYTE:
		return is_test;
	case X86_IF_INT:
		if (is_test)
			break;
		return 0;
	default:
		return 0;
	}
	return 4 - 2 * (narrow & ~(rex / REX_W));
}

/* Returns the number of the opcode at *at, behind the prefixes. *at becomes the byte after it,
 * *form what follows. */
static __always_inline uint32_t x86_opcode(const struct walk *walk, uint32_t *at, uint32_t *form)
{
	uint32_t byte = x86_byte(walk, *at), map, opcode;

	if (byte == 0xc5 || byte == 0xc4 || byte == 0x62) { /* VEX, EVEX */
		uint32_t bytes = byte == 0xc5 ? 2 : byte == 0xc4 ? 3 : 4;

		map = byte == 0xc5 ? 1 : x86_byte(walk, *at + 1) & 7;
		opcode = x86_byte(walk, *at + bytes);
		*at += bytes + 1;
		*form = map == 1 ? x86_second[opcode] : X86_MODRM | (map == 3 ? X86_BYTE : 0);
		return 0x200; /* no such opcode changes sp or jumps */
	}
	*at += 1;
	*form = x86_first[byte];
	if (byte != 0x0f)
		return byte;
	opcode = x86_byte(walk, *at);
	*at += 1;
	*form = x86_second[opcode];
	if (opcode == 0x38 || opcode == 0x3a) {
		*at += 1;
		*form = X86_MODRM | (opcode == 0x3a ? X86_BYTE : 0);
	}
	return SECOND(opcode);
}

/* Decodes the instruction at look.is.at. (What the prefixes and the opcode told is put into memory
 * and read again: the verifier forgets it, and doesn't follow each way through the decoder.) */
__noinline int x86_decode(uint32_t level)
{
	struct walk *walk = walk_at(level);
	struct x86_instruction *is;
	uint32_t at, form, rex = 0, prefixes = 0;

	if (!walk)
		return 0;
	is = &walk->hotspot.look.is;
	at = is->at;
	for (uint32_t i = 0; i < 4; i++, at++) {
		form = x86_first[x86_byte(walk, at)];
		if (!(form & X86_PREFIX))
			break;
		prefixes |= form;
	}
	if ((x86_byte(walk, at) & 0xf0) == 0x40)
		rex = x86_byte(walk, at++);
	BOUND(is->rex) = rex;
	is->opcode = x86_opcode(walk, &at, &form);
	BOUND(is->modrm) = form;
	form = BOUND(is->modrm);
	rex = BOUND(is->rex);
	is->modrm = x86_byte(walk, at);
	if (form & X86_MODRM)
		at += x86_modrm_bytes(walk, at);
	at += x86_immediate_bytes(form, rex, prefixes / X86_NARROW, is->modrm);
	is->next = at;
	return 1;
}

#endif
