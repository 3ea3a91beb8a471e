/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Unwind tables: plain data that the daemon writes and the unwinder reads. All of it lies in one
 * space of 32-bit words, the arena, which is an array of chunks:
 *
 *	word number	31       16 15        0
 *			+----------+-----------+
 *			|  chunk   | in chunk  |
 *			+----------+-----------+
 *
 * A file's table is one contiguous run of words (it may cross from a chunk to the next, a block of
 * it never does):
 *
 *	... rule 1 | rule 0 | index: one word a block | blocks
 *			    ^ struct span.index
 *
 * Code is cut into blocks of 1,024 bytes, counted from the table's lowest address (a multiple of
 * 1,024, as the file was linked). The index has for each block where its rows are, as a distance
 * from the index's own first word; 0: it has none (no CFI in all of it). There lie a head word and
 * the rows that begin in the block, by address:
 *
 *	31         22 21  20 19                   0
 *	+------------+------+----------------------+
 *	|  address   | kind |       payload        |	address: in the block
 *	+------------+------+----------------------+
 *
 * The head is the row in force at the block's first byte; its address, which can only be 0, is the
 * number of rows that follow instead (the first of them begins behind the first byte).
 * Equal blocks may lie in one place.
 *
 *	ROW_SP, ROW_FP	 payload = saved:7 | cfa:13 (low bits). CFA = sp (fp) + cfa words.
 *			 x86-64: the return address is at CFA - 1 word; saved 0: the caller's fp is
 *			 the one there is; else it is saved at CFA - (saved + 1) words.
 *			 arm64: saved 0: fp is the one there is, the return address is in the link
 *			 register; else fp is saved at CFA - (saved + 1) words, and the return
 *			 address next to it, at CFA - saved words.
 *
 *	ROW_RULE	 payload: number of a rule in the table
 *
 *	ROW_SPECIAL	 payload: enum row_special, and above its 4 bits what it needs
 *
 * A word is 8 bytes there. CFA ("canonical frame address") is what the stack pointer was before
 * the call; DWARF 5, 6.4.
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
	SPECIAL_NONE,	     /* no CFI for this code */
	SPECIAL_END,	     /* no caller: the return address is undefined */
	SPECIAL_PLT,	     /* CFA = sp + 8, and 8 more where pc % 16 >= what stands above */
	SPECIAL_UNSUPPORTED, /* above it enum unsupported (probe/cfi/rule.h) */
	SPECIAL_FRAMES,	     /* no CFI, but this code keeps frame pointers */
};

/* Where a register of the caller is. */
enum saved_kind {
	SAVED_SAME,   /* in the register itself */
	SAVED_AT_CFA, /* in memory at CFA + offset */
	SAVED_AT_REG, /* in memory at the value of the CFA's register + offset */
	SAVED_LOST,   /* nowhere; for the return address: in the register that RULE_RA_REG tells */
};

/*
 * A rule that no row expresses, 5 words of the arena.
 *
 *	how: 31    18 17     13 12  11 10  9 8   7   6      5     4       0
 *	     +-------+---------+------+-----+-----+------+-------+---------+
 *	     | post  | ra reg  |  bx  | ra  | fp  |signal| deref | cfa reg |
 *	     +-------+---------+------+-----+-----+------+-------+---------+
 *
 * CFA = reg + cfa, or with deref *(reg + cfa) + post (signed). Registers by their DWARF numbers.
 * ra reg: where the return address is, if `ra` is SAVED_LOST; else, with deref, the register whose
 * value in words is added to reg + cfa (0: none).
 * signal: the caller was interrupted, its pc is no return address. bx: the callee-saved register
 * that some code keeps its CFA in (x86-64: rbx); told only in tables with SPAN_TRACKS_BX, where
 * rows ROW_SP and ROW_FP mean that it is the same.
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

/* What is known of the code in a mapping. */
enum span_kind {
	SPAN_TABLE,    /* it has a table */
	SPAN_BARE,     /* no unwind tables: made at run time, or the file has none */
	SPAN_PENDING,  /* its table is on its way */
	SPAN_NO_TABLE, /* there is one, but not here: no room, broken, or its file can't be read */
	SPAN_HOTSPOT,  /* a Java VM's code cache (bpf/shared/hotspot.h) */
};

#define SPAN_KIND_SHIFT 24
#define SPAN_KIND_MASK	15
#define SPAN_TRACKS_BX	(1U << 28) /* struct table_rule */

/*
 * An executable mapping of a process, 8 words of the arena. A process's spans lie one behind the
 * other, by address, all in one chunk.
 */
struct span {
	uint64_t start, end;
	uint64_t base;	/* pc - base: distance from the table's lowest address */
	uint32_t index; /* word where the table's index begins */
	uint32_t what;	/* blocks:24, kind:4, flags:4 */
};

#define SPAN_WORDS 8
#define SPANS_MAX  4096 /* of one process */

_Static_assert(sizeof(struct span) == SPAN_WORDS * 4, "spans lie in words");
_Static_assert(sizeof(struct table_rule) == RULE_WORDS * 4, "rules lie in words");
