/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tracer's part for the scheduler's switches: off-CPU time, and the histograms of /sched. One
 * program sees all switches; its features are turned on and off without loading or attaching again.
 * Loop thread only.
 */
#pragma once

#include "kernel/tracer.h"
#include "bpf/shared/scheduler.h"

/*
 * Which waits off-CPU shows. A wait is measured as a whole: from the switch away to the switch
 * back.
 */
struct offcpu_settings {
	uint64_t minblock_ns, maxblock_ns;
	uint32_t states; /* 1 << enum wait_state */
	uint32_t depth;	 /* most user frames of a stack */
	bool split;	 /* show the time after the wake-up apart, under [runqueue] */
};

/* What histograms and off-CPU load (kernel/preload.h); NULL ends each list. */
extern const struct loadable *const sched_loads[], *const offcpu_loads[];

/* Starts off-CPU, or changes its settings. Errors as tracer_start(). */
int tracer_offcpu(struct tracer *tracer, const struct offcpu_settings *settings, struct why *why);
void tracer_offcpu_stop(struct tracer *tracer);

struct sched_hists_settings {
	uint32_t probes; /* 1 << enum sched_probe */
	/* all tasks of the host; false: only targets that are WANTED_SCHED */
	bool everybody;
	uint64_t slow_ns; /* longer delays are reported */
	enum group_by group_by[SCHED_COUNT];
	/* limit for all probes together, set when the programs are loaded */
	uint32_t groups_max;
};

/*
 * Starts histograms, or changes their settings. A probe that wasn't on begins at zero, as does one
 * whose group_by changes, and each that counts tasks when `everybody` changes. Errors as
 * tracer_start().
 */
int tracer_hists(struct tracer *tracer, const struct sched_hists_settings *settings,
		 struct why *why);
void tracer_hists_stop(struct tracer *tracer);

struct hist_row {
	uint64_t group; /* struct hist_key.group; GROUP_CPU: the CPU's number; GROUP_NONE: 0 */
	struct hist hist;
};

/*
 * Calls each() for the histograms of a probe (SCHED_HIST) since it was turned on, one for each
 * group there is. Returns 0 or a negative errno.
 */
int tracer_hists_read(struct tracer *tracer, enum sched_probe probe,
		      void (*each)(void *arg, const struct hist_row *row), void *arg);

/*
 * Scaled measurements (bpf/shared/scheduler.h) of a probe that is on, by the groups of the probe.
 * begin() gives *number, which is never used again. read() calls each() for each cell since
 * begin(), in no order. A measurement ends also when its probe is turned off or begins at zero.
 * Return 0; -EBUSY if SCALED_MAX are on; -ENOENT if it is no longer on; another negative errno.
 */
struct hist_cell {
	struct cell_key key;
	struct cell cell;
};

int tracer_scaled_begin(struct tracer *tracer, const struct hist_scale *scale, uint64_t *number);
int tracer_scaled_read(struct tracer *tracer, uint64_t number,
		       void (*each)(void *arg, const struct hist_cell *cell), void *arg);
void tracer_scaled_end(struct tracer *tracer, uint64_t number);

/* Ends those of probes that aren't among these (mask of 1 << enum sched_probe). */
void tracer_scaled_end_others(struct tracer *tracer, uint32_t probes);

/* Like tracer_hists_read(), for SCHED_LENGTHS: one call for each CPU that was sampled. */
int tracer_lengths_read(struct tracer *tracer,
			void (*each)(void *arg, unsigned cpu, const struct lengths *lengths),
			void *arg);

/* Reports the slow waits that have arrived (struct tracer_events.slow). */
void tracer_read_slow(struct tracer *tracer);
