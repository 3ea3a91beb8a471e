/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which processes are unlike their own past: each process's rate, and the rates of the functions in
 * it, of two ranges, compared by the rule of history_changes(). All that is compared is one family
 * of tests, so two equal ranges have an anomaly in at most one comparison of 100. Pure functions.
 */
#pragma once

#include <sys/types.h>

#include "history/history_changes.h"

struct history_anomaly {
	char *name;	 /* as pictures show it: "[PID]COMM" */
	char *container; /* as pictures show it; NULL: none */
	bool is_silent;	 /* nothing of it is in the range that is asked for */
	struct history_rate rate;
	struct history_change *changes; /* of its functions, in the order of history_changes() */
	size_t changes_count;
	double size; /* the largest change of the process or of a function in it */
};

struct history_anomalies {
	struct history_anomaly *anomalies; /* the largest change first */
	size_t count;
	/* Processes that were there for too short to be judged; of their rates `after` is known.
	 * The largest first. */
	struct history_anomaly *news;
	size_t news_count;
	uint64_t processes, functions; /* that were compared */
	uint64_t refused;	       /* functions that found no room, and weren't compared */
};

/*
 * Lists the anomalies of a table whose functions are told by process. Returns 0 or -ENOMEM;
 * history_anomalies_done() is called in any case.
 */
int history_anomalies_make(const struct functions *functions,
			   const struct history_span spans[HISTORY_SIDES],
			   struct history_anomalies *ret);
/* Returns the process's number; 0: its name has none. */
pid_t history_anomaly_pid(const struct history_anomaly *anomaly);

void history_anomalies_done(struct history_anomalies *anomalies);
