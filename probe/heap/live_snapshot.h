/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One reading of the live heap, a job of the bulk worker: turns the kernel's map and a copy of the
 * programs' mappings into one profile for each view asked for. Removes the map's dead entries on
 * the way, and purges the stack cache of stacks that hold nothing.
 */
#pragma once

#include "heap/live_sums.h"

struct live_snapshot {
	/* the question */
	int fd;			   /* of the map `held`; closed by live_snapshot_done() */
	struct live_alloc *mapped; /* mappings; freed by live_snapshot_done() */
	size_t mapped_count;
	/* sorted by pid; live_snapshot_done() frees them and drops their references */
	struct live_owner *owners;
	size_t owners_count;
	uint64_t listed_ns; /* of the owners; owners of younger entries are unknown */
	uint64_t named_ns;  /* leave out younger objects whose stacks have no names yet */
	uint32_t views;	    /* 1 << enum view */
	struct stack_detail detail;
	struct live_alloc_filter filter; /* without pid: that is in owners[].shown */
	int64_t from, until;		 /* the profiles' times, loop_real_ns() */
	uint64_t lost[VIEWS];		 /* objects missing, for they found no room */
	struct stack_cache *stack_cache;

	/* the answer */
	int error;
	struct profile *profiles[VIEWS]; /* unreferenced by live_snapshot_done() */
	uint64_t entries, dead;		 /* of the map; dead: removed ones */
	uint64_t young;			 /* objects left out: their stacks have no names yet */
	struct live_sums_result result;
};

/* Does the reading, as a job: fills in the answer. */
void live_snapshot_run(struct live_snapshot *reading);

/* Frees what the question and the answer own. */
void live_snapshot_done(struct live_snapshot *reading);
