// SPDX-License-Identifier: GPL-2.0-or-later
#include "costs/cost_kind.h"

#include <errno.h>
#include <strings.h>

#include "base/cleanup.h"

#define BIT(cost)      (1ULL << (cost))
#define BITS(from, to) ((BIT(to) - 1) & ~(BIT(from) - 1))

static const struct cost_kind kinds[COST_PROBES + 1] = {
	[PROC_CPU] = {.name = "proc_cpu",
		      .what = "time on a CPU",
		      .values = BIT(COST_RUN) | BITS(COST_PMU_CYCLES, COST_RSS),
		      .key = COST_RUN},
	[PROC_SCHED] = {.name = "proc_sched",
			.what = "switches, waits for a CPU, moves to another CPU",
			.values = BIT(COST_VOLUNTARY) | BIT(COST_INVOLUNTARY) | BIT(COST_DELAY) |
				  BIT(COST_SLICES) | BIT(COST_MIGRATIONS),
			.key = COST_DELAY},
	[PROC_FAULT] = {.name = "proc_fault",
			.what = "page faults",
			.values = BIT(COST_MINOR) | BIT(COST_MAJOR),
			.key = COST_MINOR},
	[PROC_IO] = {.name = "proc_io",
		     .what = "calls and bytes of reads and writes",
		     .values = BITS(COST_READ_CALLS, COSTS),
		     .key = COST_READ_CHARS},
	[PROC_SOFTIRQ] = {.name = "proc_softirq",
			  .what = "softirqs that interrupted it",
			  .values = BITS(COST_SOFTIRQ, COST_CACHE_HIT),
			  .key = COST_SOFTIRQ_NS},
	[PROC_PAGECACHE] = {.name = "proc_pagecache",
			    .what = "pages of files: found, added, made dirty",
			    .values = BITS(COST_CACHE_HIT, COST_WAKE_WOKEN),
			    .key = COST_CACHE_HIT},
	[PROC_WAKEUP] = {.name = "proc_wakeup",
			 .what = "times that it was woken, and woke others",
			 .values = BITS(COST_WAKE_WOKEN, COST_PMU_CYCLES),
			 .key = COST_WAKE_WOKEN},
	[PROC_ALL] = {.name = "all",
		      .what = "what processes cost",
		      .values = BITS(0, COST_VALUES),
		      .key = COST_RUN},
};

#define COST_NAME(number, name)	  [number] = (name),
#define VECTOR_NAME(number, name) [COST_##number] = (name), [COST_##number##_NS] = name "_ns",
#define EVENT_NAME(number, name)  [COST_##number] = (name),
static const char *const names[COST_VALUES] = {
	COST_LIST(COST_NAME)		     /* the kernel's */
		[COST_SOFTIRQ] = "softirqs", /* and ours */
	[COST_SOFTIRQ_NS] = "softirq_ns",
	SOFTIRQ_LIST(VECTOR_NAME) CACHE_LIST(EVENT_NAME) WAKE_LIST(EVENT_NAME)
		PMU_LIST(EVENT_NAME)[COST_PMU_NS] = "counted_ns",
	[COST_RSS] = "rss_bytes"};

const char *const cost_groups[] = {"pid", "comm", "cgroup", "container", "pod", "none", NULL};

static const struct kind_need needs[KIND_NEEDS_MAX] = {
	NEEDS_PROGRAMS,
	NEEDS_DATA,
	{.what = CAN_ITERATE_TASKS},
};

const struct cost_kind *cost_kind_get(enum cost_probe probe)
{
	return &kinds[probe];
}

const struct kind_need *cost_kind_needs(void)
{
	return needs;
}

int cost_kind_find(const char *name)
{
	for (int i = 0; i < COST_PROBES; i++) {
		if (strcasecmp(kinds[i].name, name) == 0)
			return i;
	}
	return -ENOENT;
}

int cost_find(const char *name)
{
	for (int i = 0; i < COST_VALUES; i++) {
		if (strcasecmp(names[i], name) == 0)
			return i;
	}
	return -ENOENT;
}

int cost_group_find(const char *name)
{
	for (int i = 0; cost_groups[i]; i++) {
		if (strcasecmp(cost_groups[i], name) == 0)
			return i;
	}
	return -ENOENT;
}

const char *cost_name(enum cost cost)
{
	return names[cost];
}
