/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows that are made from the code of a file's functions where it has no CFI, on demand: for the
 * functions that hold given addresses, and those that are near in the graph of calls. A function
 * begins at a symbol, where a call goes, where an address is that the code takes, or where a jump
 * goes; a begin is believed if all ways from it to a return leave the stack as they found it. Where
 * that isn't so, and where ways disagree, no row is made.
 *
 * x86-64 only. The file is hostile: memory and time are bounded. May hang: in a job.
 */
#pragma once

#include "cfi/cfi.h"
#include "flow/flow.h"

#define MADE_WANTED_MAX 4096	   /* addresses of a file */
#define MADE_RUNS_MAX	(1u << 17) /* runs of instructions with one rule */

/* Instructions with one rule, as linked: [from, to). RULE_NONE: functions disagree there. */
struct made_run {
	uint64_t from, to;
	struct rule rule;
};

struct made_rows {
	struct made_run *runs; /* by address; none overlaps another */
	size_t count;
	size_t functions; /* that have runs */
	size_t refused;	  /* asked addresses in no function that is understood */
	uint64_t *left;	  /* addresses in functions that are near, and weren't looked at yet */
	size_t left_count;
};

/* Which functions: those that hold an asked address, and those that hold a near one. Both are
 * sorted; as linked, those of instructions or inside of them. */
struct made_wanted {
	const uint64_t *asked, *near;
	size_t asked_count, near_count;
	bool all;	 /* near are, instead, all functions whose begin is certain */
	uint64_t cpu_ns; /* CPU time for near functions, and for those near to them */
};

/* Adds the rows of these functions to *made, which has those of earlier calls, or is zeroed. Near
 * is what calls a function that got rows, or is called by it. made->left is set anew. Returns 0, or
 * a negative errno, and then *made is empty: -ENOMEM; an errno of reading. The caller ends *made
 * with made_rows_done(). */
int made_rows_read(struct made_rows *made, int fd, const struct elf_image *image,
		   const struct made_wanted *wanted);
void made_rows_done(struct made_rows *made);

/* Does what no_cfi_regions_read() does, but gives the made rows where the file says nothing. A file
 * without CFI is one that keeps frame pointers. Errors as there, but not -ENOENT. */
int made_rows_give(const struct made_rows *made, int fd, const struct elf_image *image,
		   row_sink sink, void *arg, struct cfi_stats *stats);
