/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One reading of what processes hold, on the bulk worker: the kernel's map and a copy of what is
 * mapped -> a profile for each view that is asked for. On the way it removes the map's dead
 * entries, and has the stack cache forget what holds nothing any more.
 */
#pragma once

#include "heap/live_sums.h"

struct live_snapshot {
	/* the question */
	int fd;			   /* of the map `held`; closed by live_snapshot_done() */
	struct live_alloc *mapped; /* freed by live_snapshot_done() */
	size_t mapped_count;
	struct live_owner *holders; /* by pid; freed by live_snapshot_done(), as their references */
	size_t holders_count;
	uint64_t listed_ns; /* when these were listed: what came later is of anybody */
	uint64_t named_ns;  /* what came later may be of stacks that have no names yet */
	uint32_t views;	    /* 1 << enum view */
	struct stack_detail detail;
	struct live_alloc_filter filter; /* its pid is in holder.shown */
	int64_t from, until;
	uint64_t lost[VIEWS]; /* objects that found no room among what is held */
	struct stack_cache *stack_cache;

	/* the answer */
	int error;
	struct profile *profiles[VIEWS]; /* unreferenced by live_snapshot_done() */
	uint64_t entries, dead;
	uint64_t young; /* objects left out: their stacks have no names yet */
	struct live_sums_result result;
};

void live_snapshot_run(struct live_snapshot *reading);
void live_snapshot_done(struct live_snapshot *reading);
