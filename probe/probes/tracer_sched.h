/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The tracer's part on the scheduler's switches: off-CPU time, and the histograms of /sched. One
 * program sees all switches; what it does is switched on and off without loading or attaching
 * again.
 */
#pragma once

#include "kernel/tracer.h"
#include "bpf/shared/scheduler.h"

/* What off-CPU shows. Waits are measured as a whole: from the switch away to the switch back. */
struct offcpu_settings {
	uint64_t minblock_ns, maxblock_ns;
	uint32_t states; /* 1 << enum wait_state */
	uint32_t depth;	 /* user frames */
	bool split;	 /* the time after the wake-up apart, under [runqueue] */
};

/* Off-CPU from now on, or with other settings. Errors as tracer_start(). */
int tracer_offcpu(struct tracer *tracer, const struct offcpu_settings *settings, char *why,
		  size_t why_bytes);
void tracer_offcpu_stop(struct tracer *tracer);

struct sched_hists_settings {
	uint32_t probes;  /* 1 << enum sched_probe */
	bool everybody;	  /* all tasks of the host; else targets that are WANTED_SCHED */
	uint64_t slow_ns; /* delays above it are reported */
	enum group_by group_by[SCHED_COUNT];
	uint32_t groups_max; /* of all probes together, when it is loaded */
};

/* Histograms from now on; a probe that wasn't on begins at zero, as does one whose group_by
 * changes, and each but runqlen when `everybody` does. Errors as tracer_start(). */
int tracer_hists(struct tracer *tracer, const struct sched_hists_settings *settings, char *why,
		 size_t why_bytes);
void tracer_hists_stop(struct tracer *tracer);

struct hist_row {
	uint64_t group; /* struct hist_key.group; GROUP_CPU: the CPU's number; GROUP_NONE: 0 */
	struct hist hist;
};

/* Calls each for the histograms of a probe (not runqlen) since it was turned on, one for each group
 * there is. Negative errno. */
int tracer_hists_read(struct tracer *tracer, enum sched_probe probe,
		      void (*each)(void *arg, const struct hist_row *row), void *arg);

/* The same of runqlen: one for each CPU that was sampled. */
int tracer_lengths_read(struct tracer *tracer,
			void (*each)(void *arg, unsigned cpu, const struct lengths *lengths),
			void *arg);

/* Hands on the slow waits that have been reported (struct tracer_events.slow). */
void tracer_read_slow(struct tracer *tracer);
