/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two walks of one sample, held side by side: what became of it, and the kinds of difference, each
 * with an example.
 */
#pragma once

#include "reference.h"

#define COMPARE_FRAMES_MAX 1000 /* as many as are walked: USER_FRAMES_MAX */

enum outcome {
	OUTCOME_WHOLE,	     /* the same frames, and both say: that is all */
	OUTCOME_SAME,	     /* the same frames; one of them, or both, say that more are missing */
	OUTCOME_OURS_LONGER, /* elfutils' frames and more, elfutils failed */
	OUTCOME_REFERENCE_LONGER, /* ours are the beginning of elfutils', and we said so */
	OUTCOME_OURS_WRONG_END,	  /* ours are the beginning of elfutils', and we said that is all */
	OUTCOME_OURS_PAST_END,	  /* elfutils' stack is whole, and we went on */
	OUTCOME_DIFFERENT,	  /* another frame at some place */
	OUTCOME_CUT,		  /* the same until the recorded piece of the stack ends */
	OUTCOME_NO_STACK,	  /* perf recorded no byte of a stack */
	OUTCOME_NO_REFERENCE,	  /* libdw knows nothing of the process */
	OUTCOME_COUNT
};

struct kind {
	char *name;
	char *example; /* lines of text */
	uint64_t count;
};

struct comparison {
	uint64_t outcomes[OUTCOME_COUNT];
	uint64_t compared; /* all that are neither cut nor without stack or reference */
	uint64_t in_kernel;
	uint64_t ours_whole, reference_whole; /* of these */
	uint64_t other_stack;		      /* ours needed one that wasn't recorded, of these */
	uint64_t frames;		      /* elfutils', of these */
	struct kind *kinds;
	size_t kinds_count;
	bool no_memory;
};

void compare_sample(struct comparison *comparison, struct layout *layout,
		    const struct perf_sample *sample);
void comparison_done(struct comparison *comparison);

const char *outcome_name(enum outcome outcome);

/* By number, most first. */
void comparison_sort(struct comparison *comparison);
