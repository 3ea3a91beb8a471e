/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The struct shared by pycode.c and pycode_read.c, private to them. */
#pragma once

#include "python/pycode.h"
#include "python/pylines.h"

struct pycode {
	unsigned int refs;
	uint32_t bytes;
	uint32_t name_len, file_len;
	uint32_t first_instruction; /* offset in bytes = (a stack's instruction - this) … */
	uint8_t unit_bytes;	    /* … * unit_bytes */
	int8_t not_begun;	    /* the offset in bytes of a frame that hasn't begun yet */
	bool lines_known;
	bool has_copies;
	bool is_alone; /* pycode_is_alone() */
	uint32_t copies_count;
	const uint32_t *copies; /* addresses of the copies, minus the object's address */
	struct pylines lines;
	struct pylines_mark marks[]; /* then the copies, the table, the name, the file */
};
