/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long the loop was busy with one thing, and with what: while a callback runs nothing else
 * does, no answer over HTTP either. A callback's time is the wall clock's, so a loop that has to
 * wait for a CPU shows as well. Loop thread only.
 */
#pragma once

#include <stdint.h>

#include "measure/measure.h"

#define LOOP_CAUSES_MAX 32
/* A callback that takes longer is counted as a stall. */
#define LOOP_STALL_NS UINT64_C(100000000)

struct loop_stalls {
	/* The names of callbacks, borrowed, NULL behind the last one. The first is "other": of
	 * callbacks without a name, and of those whose name found no room. */
	const char *causes[LOOP_CAUSES_MAX];
	uint64_t longest_us[LOOP_CAUSES_MAX]; /* the longest callback since the start, by cause */
	uint64_t stalls[LOOP_CAUSES_MAX];     /* callbacks longer than LOOP_STALL_NS, by cause */
	uint64_t longest_turn_us;	      /* all callbacks between two waits for events */
};

void loop_stalls_init(struct loop_stalls *stalls);

/* Counts a callback that took `took_ns`. `cause` is its name, a static string; NULL: none. */
void loop_stalls_add(struct loop_stalls *stalls, const char *cause, uint64_t took_ns);

/* Counts a turn of the loop. */
void loop_stalls_add_turn(struct loop_stalls *stalls, uint64_t took_ns);

/* Rows of struct loop_stalls. */
extern const struct measures loop_measures;
