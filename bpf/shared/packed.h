/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwind tables: plain data that the daemon writes and the unwinder reads. All tables lie in one
 * space of 32-bit words, the arena, which is an array of chunks:
 *
 *	word number	31       16 15        0
 *			+----------+-----------+
 *			|  chunk   | in chunk  |
 *			+----------+-----------+
 *
 * A file's table is one contiguous run of words. A table may cross from a chunk to the next; a
 * block of a table never does:
 *
 *	... rule 1 | rule 0 | index: one word a block | blocks
 *			    ^ struct span.index
 *
 * Code is cut into blocks of 1,024 bytes, counted from the table's lowest address (a multiple of
 * 1,024, as the file was linked). The index has a word for each block: the distance from the
 * index's first word to the block's rows; 0: the block has no rows (no CFI in all of it). At that
 * place lie a head word and the rows that begin in the block, by address:
 *
 *	31         22 21  20 19                   0
 *	+------------+------+----------------------+
 *	|  address   | kind |       payload        |	address: in the block
 *	+------------+------+----------------------+
 *
 * The head is the row in force at the block's first byte. The address of the head could only be 0,
 * so the field holds the number of rows that follow instead (the first of these rows begins behind
 * the first byte). Equal blocks may share their words.
 *
 *	ROW_SP, ROW_FP	 payload = saved:7 | cfa:13 (low bits). CFA = sp (fp) + cfa words.
 *			 x86-64: the return address is at CFA - 1 word. saved 0: the caller's fp is
 *			 the current fp; else it is saved at CFA - (saved + 1) words.
 *			 arm64: saved 0: the caller's fp is the current fp, and the return address
 *			 is in the link register; else fp is saved at CFA - (saved + 1) words, and
 *			 the return address next to it, at CFA - saved words.
 *
 *	ROW_RULE	 payload: number of a rule in the table
 *
 *	ROW_SPECIAL	 payload: enum row_special in the low 4 bits, its argument above
 *
 * A word of these distances is 8 bytes. CFA ("canonical frame address") is what the stack pointer
 * was before the call; DWARF 5, 6.4.
 */
#pragma once

#ifndef __bpf__
#include <stdint.h>
#endif

#define CHUNK_WORDS_SHIFT 16
#define CHUNK_WORDS	  (1U << CHUNK_WORDS_SHIFT) /* 256 KiB */
#define CHUNKS_MAX	  1024

struct chunk {
	uint32_t words[CHUNK_WORDS];
};

#define BLOCK_SHIFT	  10
#define BLOCK_BYTES	  (1U << BLOCK_SHIFT)
#define TABLE_BLOCKS_MAX  ((1U << 24) - 1)

#define ROW_ADDRESS_SHIFT 22
#define ROW_KIND_SHIFT	  20
#define ROW_KIND_MASK	  3
#define ROW_PAYLOAD	  ((1U << ROW_KIND_SHIFT) - 1)
#define ROW_CFA_BITS	  13
#define ROW_CFA_MAX	  ((1U << ROW_CFA_BITS) - 1)
#define ROW_SAVED_MAX	  127

enum row_kind { ROW_SP, ROW_FP, ROW_RULE, ROW_SPECIAL };

#define ROW_SPECIAL_MASK  15
#define ROW_SPECIAL_SHIFT 4

enum row_special {
	SPECIAL_NONE,	     /* this code has no CFI */
	SPECIAL_END,	     /* the frame has no caller: the return address is undefined */
	SPECIAL_PLT,	     /* CFA = sp + 8, and 8 more if pc % 16 >= the argument */
	SPECIAL_UNSUPPORTED, /* the argument is enum unsupported (probe/cfi/rule.h) */
	SPECIAL_FRAMES,	     /* this code has no CFI, but keeps frame pointers */
	SPECIAL_LUAJIT,	     /* LuaJIT's interpreter (bpf/unwind/unwind_luajit.h) */
};

/* Where the value of a caller's register is. */
enum saved_kind {
	SAVED_SAME,   /* in the register itself */
	SAVED_AT_CFA, /* in memory at CFA + offset */
	SAVED_AT_REG, /* in memory at the value of the CFA's register + offset */
	SAVED_LOST,   /* nowhere; of the return address: in the register RULE_RA_REG */
};

/*
 * A rule that no row can express, 5 words of the arena.
 *
 *	how: 31    18 17     13 12  11 10  9 8   7   6      5     4       0
 *	     +-------+---------+------+-----+-----+------+-------+---------+
 *	     | post  | ra reg  |  bx  | ra  | fp  |signal| deref | cfa reg |
 *	     +-------+---------+------+-----+-----+------+-------+---------+
 *
 * CFA = reg + cfa, or with deref *(reg + cfa) + post (signed). Registers have their DWARF numbers.
 * ra reg: the register of the return address, if `ra` is SAVED_LOST; else, with deref, the register
 * whose value in words is added to reg + cfa (0: none). signal: the caller was interrupted, so its
 * pc is no return address. bx: the callee-saved register in which some code keeps its CFA (x86-64:
 * rbx). bx is set only in tables with SPAN_TRACKS_BX; there, rows ROW_SP and ROW_FP mean that the
 * register keeps its value.
 */
struct table_rule {
	uint32_t how;
	int32_t cfa, fp, ra, bx;
};

#define RULE_WORDS	  5
#define RULE_REG	  31U
#define RULE_DEREF	  (1U << 5)
#define RULE_SIGNAL	  (1U << 6)
#define RULE_FP_SHIFT	  7
#define RULE_RA_SHIFT	  9
#define RULE_BX_SHIFT	  11
#define RULE_SAVED_MASK	  3U
#define RULE_RA_REG_SHIFT 13
#define RULE_POST_SHIFT	  18
#define RULE_POST_MAX	  8191

/* What the unwinder knows of the code in a mapping. */
enum span_kind {
	SPAN_TABLE,    /* the mapping has a table */
	SPAN_BARE,     /* no unwind table: the code was made at run time, or the file has no CFI */
	SPAN_PENDING,  /* the daemon is still making the table */
	SPAN_NO_TABLE, /* no table here: no room, broken, or the file can't be read */
	SPAN_HOTSPOT,  /* a Java VM's code cache (bpf/shared/hotspot_tables.h) */
};

#define SPAN_KIND_SHIFT 24
#define SPAN_KIND_MASK	15
#define SPAN_TRACKS_BX	(1U << 28) /* rules have bx (struct table_rule) */
#define SPAN_LUAJIT	(1U << 29) /* SPAN_BARE: made code of a process that has a LuaJIT */

/*
 * An executable mapping of a process, 8 words of the arena. The spans of a process lie one behind
 * the other, by address, all in one chunk.
 */
struct span {
	uint64_t start, end;
	uint64_t base;	/* pc - base is the distance from the table's lowest address */
	uint32_t index; /* word of the arena where the table's index begins */
	uint32_t what;	/* blocks:24, kind:4, flags:4 */
};

#define SPAN_WORDS 8
#define SPANS_MAX  4096 /* spans of one process */

_Static_assert(sizeof(struct span) == SPAN_WORDS * 4, "spans lie in words");
_Static_assert(sizeof(struct table_rule) == RULE_WORDS * 4, "rules lie in words");
