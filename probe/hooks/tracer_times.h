/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tracer's part for processes' CPU times: of targets TIMES_WANTED, from when the scheduler's
 * programs were loaded (hooks/tracer_sched.h). Loop thread only.
 */
#pragma once

#include "hooks/times.h"
#include "kernel/tracer.h"

struct times_reading {
	/* A thread that exists, zombies among them. */
	void (*thread)(void *arg, const struct thread_times *thread);
	/* Sums of ended threads of a process, which may have ended itself. */
	void (*gone)(void *arg, const struct gone_key *key, const struct gone *gone);
	void *arg;
};

/*
 * Reports all existing threads, then all ended ones. Returns 0; -ENOENT if nothing is loaded;
 * another negative errno.
 */
int tracer_times_read(struct tracer *tracer, const struct times_reading *reading);

/* Forgets an ended process whose sums have been read. */
void tracer_times_forget(struct tracer *tracer, const struct gone_key *key);

/* Fills in what the scheduler's programs count now. */
void tracer_times_counted(const struct tracer *tracer, struct times_counted *counted);

struct times_state {
	bool is_on;	 /* times can be read now */
	bool has_delays; /* the kernel counts delays (CONFIG_SCHED_INFO) */
	/* why not, though the scheduler's programs are loaded; "": no reason */
	const char *why;
};

/* Fills in the state of the times. */
void tracer_times_state(const struct tracer *tracer, struct times_state *state);
