/* SPDX-License-Identifier: GPL-2.0-or-later */
/* THE TABLE of the probes of /proc: which of the values (bpf/shared/process_cost.h) each shows, and
 * what people read of them. Constant; any thread. */
#pragma once

#include "bpf/shared/process_cost.h"
#include "kind/kind.h"

/* PROC_ALL is no probe: what all of them show, in one answer. */
enum cost_probe {
	PROC_CPU,
	PROC_SCHED,
	PROC_FAULT,
	PROC_IO,
	PROC_SOFTIRQ,
	PROC_PAGECACHE,
	PROC_WAKEUP,
	COST_PROBES,
	PROC_ALL = COST_PROBES
};

struct cost_kind {
	const char *name; /* in URLs and bodies */
	const char *what; /* what it counts, for people */
	uint64_t values;  /* 1 << enum cost */
	enum cost key;	  /* by which rows are sorted if nothing else is asked for */
};

/* Returns the row of a probe. */
const struct cost_kind *cost_kind_get(enum cost_probe probe);

/* Return the number of the probe, the value or the group with that name (any case), or -ENOENT. */
int cost_kind_find(const char *name);
int cost_find(const char *name);
int cost_group_find(const char *name);

/* Returns the name of a value in answers. */
const char *cost_name(enum cost cost);

/* Returns what a probe needs: KIND_NEEDS_MAX entries. */
const struct kind_need *cost_kind_needs(void);

/* How rows are put together. */
enum cost_group {
	COST_BY_PID,
	COST_BY_COMM,
	COST_BY_CGROUP,
	COST_BY_CONTAINER,
	COST_BY_POD,
	COST_BY_NONE
};
extern const char *const cost_groups[]; /* their names; NULL ends them */
