/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of what processes cost, copied from a table: subtracted, selected, put together. Loop thread
 * only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "costs/cost_counts.h"
#include "costs/cost_kind.h"
#include "costs/energy.h"
#include "costs/host_times.h"
#include "container/cgroup.h"
#include "select/snooper.h"

struct cost_table;

/* A row: a process, or those that have ended long ago of one cgroup (pid 0). */
struct cost_row {
	pid_t pid;
	uint64_t start_ns;
	char comm[COMM_BYTES];
	struct cgroup_key group;
	uint64_t processes; /* how many it stands for */
	bool is_kernel, has_ended;
	/* the process that forked it, while it hasn't called execve since; pid 0: none */
	pid_t forker;
	uint64_t forker_start_ns;
	uint64_t line_serial; /* its command line matches these snoopers (snoopers_serial()); 0:
				 none */
	struct cost_sums costs;
	uint64_t rss_bytes; /* COST_RSS; 0 of one that has ended */
	/* what programs of ours counted, in the rows' room or the caller's; NULL: nothing */
	struct cost_more *more;
};

/* Returns a value of a row. */
static inline uint64_t cost_row_value(const struct cost_row *row, enum cost cost)
{
	if (cost < COSTS)
		return row->costs.of[cost];
	if (cost == COST_RSS)
		return row->rss_bytes;
	return row->more ? row->more->of[cost - COSTS] : 0;
}

struct cost_rows {
	struct cost_row *all; /* by pid and start */
	size_t count;
	uint64_t time_ns; /* of the reading, ns since 1970 */
	struct host_times host;
	struct energy_counts energy; /* no zones: the host counts none */
	struct cost_more *more;	     /* room of the rows', owned */
	struct cost_more idle;	     /* counted while no process ran */
	uint64_t cycles;	     /* of all processes, also of those that aren't selected */
	struct softirq_counts *cpus; /* of each CPU, owned; NULL: not counted */
	size_t cpus_count;
	struct keyed_counts pairs, evictions; /* as in struct cost_counts; owned */
};
void cost_rows_done(struct cost_rows *rows);

/* Sorts rows by pid and start; finds the row of a process among such. */
void cost_rows_sort(struct cost_rows *rows);
const struct cost_row *cost_rows_find(const struct cost_rows *rows, const struct cost_row *of);

/* Sets what programs of ours count of one kind to 0: they begin anew. */
void cost_rows_clear(struct cost_rows *rows, enum cost_counter which);

/* Subtracts what rows had before; rows that have cost nothing since are removed, unless `with_idle`
 * and the process has memory. */
void cost_rows_subtract(struct cost_rows *rows, const struct cost_rows *before, bool with_idle);

/* Fills in rows->cycles, before rows are selected. */
void cost_rows_sum(struct cost_rows *rows);

/* Removes the rows that the snoopers don't select. */
void cost_rows_select(struct cost_rows *rows, const struct cost_table *table,
		      const struct snoopers *snoopers);

/* Puts rows together. Returns 0 or -ENOMEM. */
int cost_rows_group(struct cost_rows *rows, const struct cost_table *table, enum cost_group by);

/* Adds the costs of a row, and how many processes it stands for. What programs of ours counted is
 * added to sum->more, or taken over where that is NULL. */
void cost_row_add(struct cost_row *sum, const struct cost_row *row);
