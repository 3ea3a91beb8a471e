/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The file of --every: the profile of each interval as text, one after the other, as they end. A
 * pipe or a terminal gets its text bit by bit, as far as it takes some: a write that waits would
 * hold up the loop. Intervals that end meanwhile are missed, and the text says how many. Loop
 * thread only.
 */
#pragma once

#include "command/record/record_file.h"
#include "loop/loop.h"
#include "output/text/interval_text.h"
#include "profile/render.h"

struct record_blocks {
	struct record_file *file; /* borrowed */
	struct loop *loop;	  /* borrowed */
	const struct output *output;
	struct interval_text text;
	struct loop_watch room;
	bool waits; /* for room */
	int error;  /* of writing; 0: none */

	unsigned count, missed; /* blocks that were added, and not */
	uint64_t total;		/* weight of those that were added … */
	struct profile_meta
		told; /* … events, samples, lost, left_out, truncated; else the last one's */
};

/* Begins a file; record_blocks_done() frees what it has. */
void record_blocks_begin(struct record_blocks *blocks, struct record_file *file,
			 const struct output *output, struct loop *loop);

/*
 * Adds a profile. The last one waits until the file has taken all. Returns 0, or a negative errno,
 * of an earlier block too: the file can't be written.
 */
int record_blocks_add(struct record_blocks *blocks, const struct render *render, bool is_last);

void record_blocks_done(struct record_blocks *blocks);
