/* SPDX-License-Identifier: GPL-2.0-only */
/* What pycode.c and pycode_read.c share. */
#pragma once

#include "python/pycode.h"
#include "python/pylines.h"

struct pycode {
	unsigned int refs;
	uint32_t bytes;
	uint32_t name_len, file_len;
	uint32_t first_instruction; /* a stack's instruction less this is … */
	uint8_t unit_bytes;	    /* … counted in so many bytes of code */
	int8_t not_begun;	    /* such an offset in bytes has what has not begun yet */
	bool lines_known;
	bool has_copies;
	uint32_t copies_count;
	const uint32_t *copies; /* where its instructions lie, too, less its own address */
	struct pylines lines;
	struct pylines_mark marks[]; /* then the copies, the table, the name, the file */
};
