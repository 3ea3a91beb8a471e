/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by made_rows.c (which functions), made_function.c (one of them) and made_parts.c (where
 * several lie over each other). Only these include it. */
#pragma once

#include "flow/begins.h"
#include "flow/made_rows.h"

#define CALLED_MAX 256	/* of a function */
#define CALLEES	   4096 /* that are remembered */

/* A function, and whether it never returns. */
struct callee {
	uint64_t target;
	bool ends;
	unsigned depth; /* of calls, at which that was found out */
};

/* Code of which the file says nothing: [from, to). */
struct gap {
	uint64_t from, to;
};

struct maker {
	struct made_rows *made;
	int fd;
	const struct elf_image *image;
	uint8_t *code;	  /* FLOW_BYTES_MAX */
	size_t room;	  /* of made->runs */
	size_t sorted;	  /* of made->runs, from the first on, by address */
	size_t first;	  /* the first run of the function */
	struct gap *gaps; /* by address */
	size_t gaps_count, gaps_room;
	uint64_t *begun; /* the begins of new functions; MADE_WANTED_MAX */
	size_t begun_count;
	struct callee callees[CALLEES];
	uint64_t until_ns; /* CPU time of the thread, for functions that weren't asked for */
	uint64_t end_ns;   /* and for all */
	unsigned depth;
	bool is_root;	/* the function is followed as the program's first */
	bool asks_ends; /* whether calls never come back is asked */
	bool is_ahead;	/* no stack was there: what begins there must be a function for sure */
	uint64_t called[CALLED_MAX]; /* by the function */
	size_t called_count;
	uint64_t *wanted, *more; /* now, sorted, and next; MADE_WANTED_MAX */
	size_t more_count;
};

/* ---- flow/made_rows.c ---- */

/* Wants the rows of a near function, unless the file or the maker has them. */
void maker_want(struct maker *maker, uint64_t address);

/* ---- flow/made_function.c ---- */

/* Returns whether the address was looked at: there are rows, or it is known that none can be. */
bool maker_has(const struct maker *maker, uint64_t address);

/* Makes the rows of the function that holds the address, wherever it begins. Returns 0, or -ENOMEM.
 */
int maker_make(struct maker *maker, const struct begins *one, bool asked);

/* ---- flow/made_parts.c ---- */

/* Parts runs, which are sorted, that lie over each other: two functions may share code. Where they
 * say the same it is known; where they don't it is known that nothing is: such a run has RULE_NONE.
 * Returns 0, or -ENOMEM. */
int made_part(struct made_rows *made);
