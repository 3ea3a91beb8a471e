/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The counts of a window that has ended. There may be a million of them, so they are read in a job.
 * They have descriptors of their own while they aren't read, so the tracer may stop meanwhile.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "bpf/shared/sample.h"

struct tracer;
struct window_counts;

/* An entry of a window's counts. */
struct counted {
	struct count_key key;
	struct stack_count count;
};

/* Creates it, without counts; the caller owns *ret. Returns 0 or -ENOMEM. */
int window_counts_new(struct window_counts **ret);
void window_counts_free(struct window_counts *counts);

/*
 * Begins a new window. Those of the window that ends can be read by window_counts_read(), which
 * has to be called before the next swap. Its last stacks come by tracer_read_stacks(). Nothing
 * happens while the tracer is stopped. Loop thread.
 */
void tracer_swap(struct tracer *tracer, struct window_counts *counts);

/*
 * Reads the counts, and makes room for those of the window after the next. Returns 0, also if there
 * is nothing to be read, or a negative errno of reading; then no count is known. In a job.
 */
int window_counts_read(struct window_counts *counts);

/* Returns the counts that were read, borrowed until the next swap. */
const struct counted *window_counts_list(const struct window_counts *counts, size_t *count);

/* Adds the events for which there was no memory to the sums of their probes. */
void window_counts_lost(const struct window_counts *counts, uint64_t events[PROBE_COUNT]);

/* Forgets the counts that were read. */
void window_counts_clear(struct window_counts *counts);
