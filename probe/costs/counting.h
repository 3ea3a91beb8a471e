/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Programs of ours that count by process for some probes of /proc: started, read, stopped. Loop
 * thread only. */
#pragma once

#include "costs/cost_kind.h"
#include "costs/cost_reading.h"
#include "costs/cost_table.h"

struct counting {
	struct tracer *tracer;		 /* borrowed */
	uint64_t from_ns[COST_COUNTERS]; /* since 1970; 0: it doesn't count */
};

/* Returns the probe that a counter is for. */
enum cost_probe counting_probe(enum cost_counter which);

/* Returns what the machine has not of a probe's values, and why, a sentence; NULL: nothing. It is
 * known once the probe has been started. */
const char *counting_absent(const struct tracer *tracer, enum cost_probe probe);

/* Starts one. Returns 1 if its counts begin at 0 now; 0 if it counts already, or the machine has
 * nothing that it could count; or a negative errno and a sentence in `why`. */
int counting_start(struct counting *counting, enum cost_counter which, struct why *why);
void counting_stop(struct counting *counting, enum cost_counter which);

/* Fills in where the counts are read. Returns 0 or a negative errno; cost_source_close() is to be
 * called in any case. */
int counting_open(const struct counting *counting, struct cost_source *source);

/*
 * Forgets what was counted of processes that were among the first `ends` that ended: the table has
 * all of it. Their pairs are forgotten, too. Returns 0 or -ENOMEM.
 */
int counting_forget(const struct counting *counting, const struct cost_table *table,
		    const struct cost_counts *counts, uint64_t ends);
