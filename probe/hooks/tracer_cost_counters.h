/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tracer's part for what programs of ours count by process, for all processes of the host:
 * softirqs (bpf/softirq.bpf.c), the page cache (bpf/pagecost.bpf.c), wake-ups
 * (bpf/wakecost.bpf.c), the CPUs' counters (bpf/pmucost.bpf.c). Counts begin at zero when they are
 * started. Loop thread only.
 */
#pragma once

#include "bpf/shared/process_cost.h"
#include "kernel/tracer.h"

/* Loads the programs and attaches them, unless that is done, or the machine has nothing of what
 * they would count (tracer_counter_absent()). Returns 0, or a negative errno and a sentence in
 * `why`. */
int tracer_counter_start(struct tracer *tracer, enum cost_counter which, struct why *why);
void tracer_counter_stop(struct tracer *tracer, enum cost_counter which);

/* Descriptors of the maps, to be read by any thread (costs/cost_counts.h). */
struct counter_fds {
	int by_process; /* struct cost_counter_key -> struct softirq_counts, cache_counts,
			   wake_counts, pmu_counts */
	/* struct softirq_counts of each CPU; of wake-ups struct wake_pair -> uint64_t; of the page
	 * cache a cgroup's id -> evicted pages, uint64_t; of the CPUs' counters the program that
	 * counts for what runs now; else -1 */
	int beside;
	unsigned cpus; /* that the kernel has counts of */
};

/* Returns 0 and descriptors that the caller closes, both -1 if it isn't started; or a negative
 * errno. */
int tracer_counter_open(const struct tracer *tracer, enum cost_counter which,
			struct counter_fds *fds);

/* Forgets a process that has ended. */
void tracer_counter_forget(struct tracer *tracer, enum cost_counter which,
			   const struct cost_counter_key *key);

/* Forgets a pair of which one has ended. */
void tracer_counter_forget_pair(struct tracer *tracer, const struct wake_pair *pair);

/* Returns the events of processes that found no room, since it was started. */
uint64_t tracer_counter_lost(const struct tracer *tracer, enum cost_counter which);

/* Returns what it couldn't count when it was started last, and why, a sentence; NULL: nothing. */
const char *tracer_counter_absent(const struct tracer *tracer, enum cost_counter which);

/* Returns the values that it counts here: 1 << enum cost; 0: it isn't started. */
uint64_t tracer_counter_known(const struct tracer *tracer, enum cost_counter which);
