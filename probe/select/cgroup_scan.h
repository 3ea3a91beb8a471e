/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A census: in which cgroups the processes of the host are, or some of them. Read from /proc by a
 * job, a piece at a time, so that whoever else waits for the worker isn't kept long.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "loop/worker.h"
#include "container/container.h"
#include "select/snooper.h"

#define CENSUS_PIECE 256

/* One process. */
struct cgroup_member {
	pid_t pid;
	uint64_t start_ticks;
	struct container_place place;
	char *path; /* in the v2 hierarchy; "": not known */
};

struct cgroup_scan {
	struct job job;

	/* the question */
	struct snoopers *snoopers; /* a reference; NULL: all of the processes are told */
	pid_t *pids;		   /* NULL: all of the host's, which the first piece finds */
	size_t count, at;	   /* how many, how many were looked at */

	/* the answer: of this piece, those in a container or whom a snooper chooses by the path */
	struct cgroup_member residents[CENSUS_PIECE];
	size_t residents_count;
	bool incomplete; /* some weren't looked at: no memory, or no descriptor */

	/* The next piece follows when it returns, unless it was the last one, or given up. */
	void (*told)(void *arg, struct cgroup_scan *census, bool finished, bool last);
	void *arg;
};

/* `pids` are copied; NULL: all. -ENOMEM */
int cgroup_scan_begin(struct worker *worker, struct snoopers *snoopers, const pid_t *pids,
		      size_t count,
		      void (*told)(void *arg, struct cgroup_scan *census, bool finished, bool last),
		      void *arg);
