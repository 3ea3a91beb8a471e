/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A job that reads what all processes of the host have cost so far, and the cgroups of those whose
 * cgroups it hasn't met. Threads are summed up by process.
 */
#pragma once

#include "bpf/shared/process_cost.h"
#include "container/cgroup.h"
#include "costs/cost_counts.h"
#include "costs/cost_missed.h"
#include "costs/host_times.h"
#include "loop/worker.h"
#include "select/snooper.h"

/* What a reading found of a process. */
struct process_cost {
	struct cost_owner owner;
	struct cost_sums costs;
	bool line_matches; /* a snooper chooses it by its command line */
	bool line_unread;  /* that can't be read, for it has ended, or hangs */
};

/* Cgroups that a reading met for the first time. */
struct met_cgroup {
	struct cgroup_key key;
	struct container_place place;
	char *path; /* owned */
};

struct cost_reading {
	struct process_cost *processes;
	size_t count;
	struct met_cgroup *met;
	size_t met_count;
	struct unseen_ends unseen; /* processes that have ended, or just begun */
	struct cost_counts counts; /* what programs of ours have counted */
	uint64_t line_serial;	   /* of the snoopers that command lines were compared with */
	struct cost_counter_key
		hung;		/* of a reading that was given up: whose command line it was at */
	struct host_times host; /* at its begin */
	int error;
};

#define COST_HUNG_MAX 64

/* Where a reading reads; all is taken over. */
struct cost_source {
	int fd;	      /* the iterator's (hooks/tracer_costs.h) */
	int ended_fd; /* of the map `cost_ended` */
	struct counter_fds counters[COST_COUNTERS];
	struct snoopers *snoopers; /* that ask for command lines; NULL: none does */
	/* processes whose command lines are not read, for that hangs */
	struct cost_counter_key hung[COST_HUNG_MAX];
};

/*
 * Starts a reading. `known` are keys of cgroups that need not be read (copied). done() gets the
 * result, borrowed during the call, on the loop's thread. Returns 0 or -ENOMEM.
 */
int cost_reading_start(struct worker *worker, const struct cost_source *source,
		       const struct cgroup_key *known, size_t known_count,
		       void (*done)(void *arg, const struct cost_reading *reading), void *arg);

/* Closes what a reading would have read. */
void cost_source_close(const struct cost_source *source);
