/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What processes have cost, present and past: the last reading of each, and sums of those that
 * ended long ago. Sums never go back while a process keeps its pid: a thread that ends while others
 * are read is in no sum for a moment; then the reading before stands. Loop thread only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "costs/cost_kind.h"
#include "costs/cost_reading.h"
#include "select/containers.h"
#include "select/snooper.h"

#define COST_ENDED_KEPT 4096 /* processes that have ended and still have rows of their own */

struct cost_table;

/* Creates it; the caller owns *ret. `containers` is borrowed. Returns 0 or -ENOMEM. */
int cost_table_new(struct cost_table **ret, struct containers *containers);
void cost_table_free(struct cost_table *table);

/*
 * Tells whether a reading is under way. Until it has come no row is folded: the reading may have a
 * process that ended meanwhile, which would be counted twice.
 */
void cost_table_expect(struct cost_table *table, bool expects);

/* Takes a reading, or a process that has ended. Return 0 or -ENOMEM. */
int cost_table_take(struct cost_table *table, const struct cost_reading *reading);
int cost_table_end(struct cost_table *table, const struct ended_cost *ended);

/* Returns the keys of the cgroups that are known; the caller frees them. NULL: none, or no memory.
 */
struct cgroup_key *cost_table_known(const struct cost_table *table, size_t *count);

/* A row: a process, or those that have ended long ago of one cgroup (pid 0). */
struct cost_row {
	pid_t pid;
	uint64_t start_ns;
	char comm[COMM_BYTES];
	struct cgroup_key group;
	uint64_t processes; /* how many it stands for */
	bool is_kernel, has_ended;
	struct cost_sums costs;
};

struct cost_rows {
	struct cost_row *all; /* by pid and start */
	size_t count;
	uint64_t time_ns; /* of the reading, ns since 1970 */
	struct host_times host;
};
void cost_rows_done(struct cost_rows *rows);

/* Copies all rows. Returns 0 or -ENOMEM. */
int cost_table_copy(const struct cost_table *table, struct cost_rows *rows);

/* Subtracts what rows had before; rows that have cost nothing since are removed. */
void cost_rows_subtract(struct cost_rows *rows, const struct cost_rows *before);

/* Removes the rows that the snoopers don't select. */
void cost_rows_select(struct cost_rows *rows, const struct cost_table *table,
		      const struct snoopers *snoopers);

/* Puts rows together. Returns 0 or -ENOMEM. */
int cost_rows_group(struct cost_rows *rows, const struct cost_table *table, enum cost_group by);

/* Adds the costs of a row, and how many processes it stands for. */
void cost_row_add(struct cost_row *sum, const struct cost_row *row);

/* Return the container of a row, and its path in the v2 hierarchy, borrowed; NULL, "": not known.
 */
struct container *cost_row_container(const struct cost_table *table, const struct cost_row *row);
const char *cost_row_path(const struct cost_table *table, const struct cost_row *row);

struct cost_table_stats {
	uint64_t processes, ended; /* rows */
	uint64_t cgroups;
	uint64_t refused; /* processes that found no room */
};
void cost_table_stats(const struct cost_table *table, struct cost_table_stats *stats);
