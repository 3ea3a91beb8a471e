/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to cost_table.c (what a table takes) and cost_table_rows.c (what it tells). */
#pragma once

#include "base/map.h"
#include "costs/cost_table.h"

/* Who a row is of; the pid 0 stands for those of a cgroup that ended long ago. */
struct row_key {
	uint64_t start_ns;
	struct cgroup_key group; /* of pid 0; else 0 */
	uint64_t pid;
};

struct cost_entry {
	struct cost_row row;
	struct cost_more *more; /* owned; NULL: programs of ours have counted nothing */
	uint64_t reading;	/* the last one that saw it */
	uint64_t order;		/* of its end; 0: it lives */
};

struct cost_table {
	struct containers *containers;
	struct map *rows;   /* struct row_key -> struct cost_entry */
	struct map *groups; /* struct cgroup_key -> struct known_cgroup *, with a reference */
	uint64_t reading;
	bool holds; /* no row may be folded */
	uint64_t order,
		folded; /* processes that have ended; and those without a row of their own */
	struct host_times host;	     /* at the last reading */
	struct cost_more idle;	     /* counted while no process ran */
	struct softirq_counts *cpus; /* owned; of each CPU */
	size_t cpus_count;
	struct keyed_counts pairs, evictions; /* as in struct cost_counts; owned */
	struct cost_table_stats stats;
};

/* Puts a copy of the CPUs' counts in the place of older ones; `from` NULL: keeps these. Returns 0
 * or -ENOMEM. */
int cost_cpus_replace(struct softirq_counts **to, size_t *to_count,
		      const struct softirq_counts *from, size_t count);
