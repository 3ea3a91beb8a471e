/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which processes are unlike their own past: each process's rate, and the rates of the functions in
 * it, of two ranges, compared by the rule of history_changes(). All of them are one family of
 * tests, so two equal ranges have an anomaly in at most one comparison of 100. Pure functions.
 */
#pragma once

#include "container/cgroup_limits.h"
#include "history/history_changes.h"

struct history_anomaly {
	char *name;	 /* as pictures show it: "[PID]COMM" */
	char *container; /* as pictures show it; NULL: none */
	bool is_new;	 /* nothing of it is in the range before: only its rate is told */
	bool is_silent;	 /* nothing of it is in the range that is asked for */
	bool is_alive;	 /* who made the list may tell, and fill in the limits */
	struct history_rate rate;
	struct history_change *changes; /* of its functions, in the order of history_changes() */
	size_t changes_count;
	struct cgroup_limits limits; /* their path is freed with the anomaly */
};

struct history_anomalies {
	struct history_anomaly *anomalies; /* the largest change first */
	size_t count;
	uint64_t processes, functions; /* that were compared with a past of their own */
	uint64_t began, ended;	       /* processes that are in one of the ranges alone */
};

/*
 * Lists the anomalies of a table whose functions are told by process, of at most `max` changes.
 * Returns 0 or -ENOMEM; history_anomalies_done() is called in any case.
 */
int history_anomalies_make(const struct functions *functions,
			   const struct history_span spans[HISTORY_SIDES], size_t max,
			   struct history_anomalies *ret);
void history_anomaly_done(struct history_anomaly *anomaly);
void history_anomalies_done(struct history_anomalies *anomalies);
