/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which processes have series of their own in /metrics: those with the most CPU time since /proc
 * was started. A process's series begins at 0 when it is chosen, and what all others cost is one
 * series more: so neither ever decreases, whoever comes, goes and is chosen. Loop thread only.
 */
#pragma once

#include "costs/cost_rows.h"

struct cost_series {
	struct series_entry {
		struct cost_row
			row; /* as of the last update; of what programs of ours count, nothing */
		struct cost_sums base; /* what it had when it was chosen */
		bool is_over;	       /* it has ended, and /metrics have had it since */
	} * all;		       /* owned */
	size_t count;
	struct cost_sums gone; /* what processes had that were chosen once */
	struct cost_sums rest; /* all others' costs, as of the last update */
	struct cost_sums
		others; /* what was added to these; it stays if a row is selected no more */
};

#define COST_SERIES_MAX 1000

/* Takes rows of single processes since the start, by pid; chooses `most` of them. Returns 0 or
 * -ENOMEM. */
int cost_series_update(struct cost_series *series, const struct cost_rows *rows, size_t most);

/* Fills in what a chosen process has cost since then. What all others have is series->others. */
void cost_series_value(const struct series_entry *entry, struct cost_sums *sums);

void cost_series_done(struct cost_series *series);
