/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which processes /metrics has series of: so many with the most CPU time, and a fifth as many with
 * the most cut stacks, which have a series for each cause (16 and 3 have 198 at most), so that a
 * host's short-lived processes don't make series without end. None while nothing is profiled. Loop
 * thread only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define PROCESS_CHOICE_ALL (-1)

struct services;

/* What is chosen by: each has a number of its own. */
enum process_choice_by { CHOSEN_BY_TIME, CHOSEN_BY_TRUNCATED, CHOSEN_BY };

struct process_choice {
	struct process_chosen {
		pid_t *pids; /* ascending; owned */
		size_t count;
		size_t left_out; /* processes without series */
	} by[CHOSEN_BY];
	bool all;
};

/* Makes the choice, of services->process_metrics processes. Without memory none is chosen. */
void process_choice_make(struct process_choice *choice, const struct services *services);
void process_choice_done(struct process_choice *choice);

/* `choice` NULL: all are. */
bool process_is_chosen(const struct process_choice *choice, enum process_choice_by by, pid_t pid);
