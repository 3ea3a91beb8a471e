/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Scan of cgroups: finds out in which cgroups the processes of the host are, or some of them. A job
 * reads /proc a piece at a time, so that other users of the worker don't wait long.
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

/* A process that was found. */
struct cgroup_member {
	pid_t pid;
	uint64_t start_ticks;
	struct container_place place;
	char *path; /* in the v2 hierarchy; "": not known */
};

struct cgroup_scan {
	struct job job;

	/* the question */
	struct snoopers *snoopers; /* a reference; NULL: all processes are reported */
	pid_t *pids;		   /* NULL: all of the host, which the first piece lists */
	size_t count, at;	   /* number of pids; number looked at so far */

	/*
	 * the answer: processes of this piece that are in a container, or whose path a snooper
	 * chooses
	 */
	struct cgroup_member residents[CENSUS_PIECE];
	size_t residents_count;
	bool incomplete; /* some weren't looked at: no memory or no descriptor */

	/*
	 * Called for each piece. The next piece follows when it returns, unless it was the last one
	 * or given up.
	 */
	void (*told)(void *arg, struct cgroup_scan *scan, bool finished, bool last);
	void *arg;
};

/* Starts a scan. `pids` are copied; NULL: all. Returns 0 or -ENOMEM. */
int cgroup_scan_begin(struct worker *worker, struct snoopers *snoopers, const pid_t *pids,
		      size_t count,
		      void (*told)(void *arg, struct cgroup_scan *scan, bool finished, bool last),
		      void *arg);
