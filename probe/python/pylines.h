/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The lines of a code object's instructions, from its table; the table is hostile, any bytes have
 * an answer in bounded time. The answers are those of the interpreter's PyCode_Addr2Line().
 *
 * Source: CPython's Objects/lnotab_notes.txt (3.8 to 3.10), PEP 626, Objects/locations.md (3.11 and
 * later).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "python/layout.h"

#define PYLINES_BYTES_MAX  (1 << 20)
#define PYLINES_MARK_BYTES 512 /* of the table: between two marks */

/* Where the decoder was, somewhere in the table. */
struct pylines_mark {
	uint32_t at;	 /* in the table: of the next entry */
	uint32_t offset; /* in the code: where that begins */
	int64_t line;	 /* before it */
};

struct pylines {
	const uint8_t *table;
	uint32_t bytes; /* up to PYLINES_BYTES_MAX */
	int32_t first_line;
	enum python_lines form;
	uint32_t marks_count;
	struct pylines_mark *marks; /* pylines_marks_max(bytes) of them, the caller's */
	uint32_t code_bytes;	    /* that the table tells of */
};

static inline size_t pylines_marks_max(size_t table_bytes)
{
	return table_bytes / PYLINES_MARK_BYTES;
}

/* Goes once over the table, for marks, so that no question has to do it again, and code_bytes. */
void pylines_index(struct pylines *lines);

/* The line of the instruction at `offset` bytes in the code; 0: it has none. */
uint32_t pylines_line(const struct pylines *lines, uint32_t offset);
