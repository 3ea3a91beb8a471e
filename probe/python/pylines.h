/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A decoder of a code object's table of lines. The table is hostile: any bytes give an answer in
 * bounded time. The answers are those of the interpreter's PyCode_Addr2Line().
 *
 * Source: CPython's Objects/lnotab_notes.txt (3.8 to 3.10), PEP 626, Objects/locations.md (3.11 and
 * later).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "python/layout.h"

#define PYLINES_BYTES_MAX  (1 << 20)
#define PYLINES_MARK_BYTES 512 /* bytes of the table between two marks */

/* A state of the decoder, before an entry of the table. */
struct pylines_mark {
	uint32_t at;	 /* the entry's offset in the table */
	uint32_t offset; /* where the entry's code begins: offset in the code, bytes */
	int64_t line;	 /* the line before the entry */
};

struct pylines {
	const uint8_t *table;
	uint32_t bytes; /* up to PYLINES_BYTES_MAX */
	int32_t first_line;
	enum python_lines form;
	uint32_t marks_count;
	struct pylines_mark *marks; /* owned by the caller, room for pylines_marks_max(bytes) */
	uint32_t code_bytes;	    /* bytes of code that the table covers */
};

static inline size_t pylines_marks_max(size_t table_bytes)
{
	return table_bytes / PYLINES_MARK_BYTES;
}

/* Decodes the whole table once: sets marks, from which pylines_line() starts, and code_bytes. */
void pylines_index(struct pylines *lines);

/* Returns the line of the instruction at `offset` bytes in the code; 0: none. */
uint32_t pylines_line(const struct pylines *lines, uint32_t offset);
