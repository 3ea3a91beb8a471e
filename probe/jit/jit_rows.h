/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process's made code as one unwind table. Its code lies anywhere in memory; the table's
 *addresses lie close together:
 *
 *	memory	....[ section ][section].................[ section ]....
 *		     piece 0                              piece 1
 *	table	    [ section ][section][ section ]
 *
 * Code in a piece that has no rows is walked as made code is elsewhere: by frame pointers.
 */
#pragma once

#include "jit/jit_object.h"
#include "unwind/image.h"

#define JIT_PIECES_MAX 512

/* A section of code, of object number `object`. */
struct jit_section {
	uint64_t start, end;
	uint32_t object;
	/* The rows of its object: the first one's number, and how many. They may begin before the
	 * section and end behind it. */
	uint32_t rows_count;
	size_t rows_first;
};

struct jit_piece {
	uint64_t start, end; /* in memory */
	uint64_t at;	     /* the table's address of `start` */
};

struct jit_rows {
	struct jit_piece *pieces; /* by address */
	size_t count;
	struct table_image image; /* words NULL: there are no rows, or somebody has taken it */
	uint64_t left_out;	  /* sections with rows for which there was no room */
};

/* Makes a table of the rows. `sections` are by address, none over another one. The caller owns
 * *rows. Returns 0, or -ENOMEM; -EFBIG if the rows need too many rules. */
int jit_rows_make(struct jit_rows *rows, const struct jit_section *sections, size_t count,
		  const struct jit_row_list *list);
void jit_rows_done(struct jit_rows *rows);
