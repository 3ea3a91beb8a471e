/* SPDX-License-Identifier: GPL-2.0-only */
/* The tracer's part on what processes had of their CPUs: of those that are targets TIMES_WANTED,
 * from when the scheduler's programs were loaded (probes/tracer_sched.h). */
#pragma once

#include "probes/times.h"
#include "kernel/tracer.h"

struct times_reading {
	/* A thread that is there, zombies among them. */
	void (*thread)(void *arg, const struct thread_times *thread);
	/* What threads had that ended, of a process that is there or was. */
	void (*gone)(void *arg, const struct gone_key *key, const struct gone *gone);
	void *arg;
};

/* All threads that there are, then all that ended. -ENOENT: nothing is loaded; negative errno. */
int tracer_times_read(struct tracer *tracer, const struct times_reading *reading);

/* That process's end has been read: it is forgotten. */
void tracer_times_forget(struct tracer *tracer, const struct gone_key *key);

/* What the scheduler's programs count now. */
void tracer_times_counted(const struct tracer *tracer, struct times_counted *counted);

struct times_state {
	bool is_on;	 /* it can be read now */
	bool has_delays; /* the kernel counts them (CONFIG_SCHED_INFO) */
	const char *why; /* not, though the scheduler's programs are there; "": no reason */
};
void tracer_times_state(const struct tracer *tracer, struct times_state *state);
