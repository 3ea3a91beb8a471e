/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The counts of a window that has ended. There may be a million of them, so they are read in a job.
 * They have descriptors of their own while they aren't read, so the tracer may stop meanwhile.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "bpf/shared/sample.h"

struct full_maps;
struct tracer;
struct window_counts;
struct worker;

/* An entry of a window's counts. */
struct counted {
	struct count_key key;
	struct stack_count count;
};

/* Creates it, without counts; the caller owns *ret. Returns 0 or -ENOMEM. */
int window_counts_new(struct window_counts **ret);
void window_counts_free(struct window_counts *counts);

/*
 * Begins a new window, and calls done(arg), later or at once, when the counts of the window that
 * ended are complete: then window_counts_read() reads them, and the last stacks come by
 * tracer_read_stacks(). Jobs of `worker` wait for that. There are
 * no counts if the tracer is stopped, or stops meanwhile. Loop thread.
 */
void tracer_swap(struct tracer *tracer, struct worker *worker, struct window_counts *counts,
		 void (*done)(void *arg), void *arg);

/*
 * Reads the counts. Returns 0, also if there is nothing to be read, or a negative errno of reading;
 * then no count is known. In a job.
 */
int window_counts_read(struct window_counts *counts);

/*
 * Returns the maps that were read, which have to be emptied before the next swap; the caller frees
 * them. NULL: they are empty.
 */
struct full_maps *window_counts_full(struct window_counts *counts);
void full_maps_free(struct full_maps *maps);

/* Makes room for the counts and stacks of the window after the next. In a job. */
void full_maps_empty(struct full_maps *maps);

/* Returns the counts that were read, borrowed until the next swap. */
const struct counted *window_counts_list(const struct window_counts *counts, size_t *count);

/* Adds the events for which there was no memory to the sums of their probes. */
void window_counts_lost(const struct window_counts *counts, uint64_t events[PROBE_COUNT]);

/* Forgets the counts that were read. */
void window_counts_clear(struct window_counts *counts);
