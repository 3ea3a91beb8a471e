/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What processes have cost, present and past: the last reading of each, and sums of those that
 * ended long ago. Sums never go back while a process keeps its pid: a thread that ends while others
 * are read is in no sum for a moment; then the reading before stands. Loop thread only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "costs/cost_reading.h"
#include "costs/cost_rows.h"
#include "select/containers.h"

#define COST_ENDED_KEPT 4096 /* processes that have ended and still have rows of their own */

/* Creates it; the caller owns *ret. `containers` is borrowed. Returns 0 or -ENOMEM. */
int cost_table_new(struct cost_table **ret, struct containers *containers);
void cost_table_free(struct cost_table *table);

/*
 * Tells whether no row may be folded when a process ends: while a reading is under way, which may
 * have a process that ended meanwhile, and would be counted twice; and while programs of ours
 * count, whose counts of a process are read after its end.
 */
void cost_table_hold(struct cost_table *table, bool holds);

/* Folds rows of processes that ended long ago, after a reading. */
void cost_table_fold(struct cost_table *table);

/* Returns how many processes have ended so far; and of these, those that have rows of their own. */
uint64_t cost_table_ends(const struct cost_table *table);
uint64_t cost_table_unfolded(const struct cost_table *table);

/* Takes a reading, or a process that has ended. Return 0 or -ENOMEM. */
int cost_table_take(struct cost_table *table, const struct cost_reading *reading);
int cost_table_end(struct cost_table *table, const struct ended_cost *ended);

/* Returns whether a process is known, and was among the first `ends` that ended. */
bool cost_table_has_ended(const struct cost_table *table, const struct cost_counter_key *key,
			  uint64_t ends);

/* Returns the keys of the cgroups that are known; the caller frees them. NULL: none, or no memory.
 */
struct cgroup_key *cost_table_known(const struct cost_table *table, size_t *count);

/* Sets what programs of ours count of one kind to 0: they begin anew. */
void cost_table_clear(struct cost_table *table, enum cost_counter which);

/* Copies all rows. Returns 0 or -ENOMEM. */
int cost_table_copy(const struct cost_table *table, struct cost_rows *rows);

/*
 * Returns the process whose proc_id chooses the row as well: what it forked, until that calls
 * execve (struct identity). It may be the row itself.
 */
const struct cost_row *cost_row_line(const struct cost_table *table, const struct cost_row *row);

/* Return the container of a row, and its path in the v2 hierarchy, borrowed; NULL, "": not known.
 */
struct container *cost_row_container(const struct cost_table *table, const struct cost_row *row);
const char *cost_row_path(const struct cost_table *table, const struct cost_row *row);

/* Returns a memory cgroup by the id of its node, borrowed, and whether that is the node of its
 * path: else it is one of v1's memory controller. NULL: no process was met in it, or the id is 0.
 */
const struct known_cgroup *cost_table_cgroup(const struct cost_table *table, uint64_t id,
					     bool *has_path);

/* The name of a process, the youngest with that pid; "": not known. */
struct cost_name_of {
	uint32_t pid;
	uint64_t start_ns;
	char comm[COMM_BYTES];
};

/* Fills in names of some processes, whose other fields are 0 before. */
void cost_table_names(const struct cost_table *table, struct cost_name_of *names, size_t count);

struct cost_table_stats {
	uint64_t processes, ended; /* rows */
	uint64_t cgroups;
	uint64_t refused; /* processes that found no room */
};
void cost_table_stats(const struct cost_table *table, struct cost_table_stats *stats);
