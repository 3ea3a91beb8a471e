/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What programs of ours have counted by process (hooks/tracer_cost_counters.h), read from their
 * maps. Any thread. */
#pragma once

#include <stddef.h>

#include "costs/keyed_counts.h"
#include "hooks/tracer_cost_counters.h"

/* Values of a process beside those that the kernel keeps: of[cost - COSTS]. */
struct cost_more {
	uint64_t of[COSTS_MORE];
};

struct counted_cost {
	struct cost_counter_key key;
	struct cost_more more;
};

struct cost_counts {
	struct counted_cost *all; /* a process with two kinds of counts is there twice */
	size_t count;
	struct softirq_counts *cpus; /* by number; NULL: softirqs aren't counted */
	size_t cpus_count;
	struct keyed_counts pairs; /* who has woken whom */
	struct keyed_counts
		evictions; /* pages that reclaim took out of the page cache, by cgroup */
};

/* Adds what the maps of one kind hold. Returns 0 or a negative errno. cost_counts_done() is to be
 * called in any case. */
int cost_counts_read(struct cost_counts *counts, enum cost_counter which,
		     const struct counter_fds *fds);
void cost_counts_done(struct cost_counts *counts);

/* Add, and subtract what there was before. */
void cost_sums_add(struct cost_sums *to, const struct cost_sums *more);
void cost_more_add(struct cost_more *to, const struct cost_more *more);
void cost_more_subtract(struct cost_more *from, const struct cost_more *before);

/* Sets the values of one kind to 0. */
void cost_more_clear(struct cost_more *more, enum cost_counter which);
