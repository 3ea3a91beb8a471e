// SPDX-License-Identifier: GPL-2.0-or-later
#include "costs/cost_kind.h"

#include <errno.h>
#include <strings.h>

#include "base/cleanup.h"

#define BIT(cost) (1u << (cost))

static const struct cost_kind kinds[COST_PROBES] = {
	[PROC_CPU] = {"proc_cpu", "time on a CPU", BIT(COST_RUN), COST_RUN,
		      "cycles, reference cycles, instructions, cache misses: not read yet"},
	[PROC_SCHED] = {"proc_sched", "switches, waits for a CPU, moves to another CPU",
			BIT(COST_VOLUNTARY) | BIT(COST_INVOLUNTARY) | BIT(COST_DELAY) |
				BIT(COST_SLICES) | BIT(COST_MIGRATIONS),
			COST_DELAY, NULL},
	[PROC_FAULT] = {"proc_fault", "page faults", BIT(COST_MINOR) | BIT(COST_MAJOR), COST_MINOR,
			NULL},
	[PROC_IO] = {"proc_io", "calls and bytes of reads and writes",
		     BIT(COST_READ_CALLS) | BIT(COST_WRITE_CALLS) | BIT(COST_READ_CHARS) |
			     BIT(COST_WRITE_CHARS) | BIT(COST_READ_BYTES) | BIT(COST_WRITE_BYTES) |
			     BIT(COST_CANCELLED_BYTES),
		     COST_READ_CHARS, NULL},
};

#define COST_NAME(number, name) [number] = (name),
static const char *const names[COSTS] = {COST_LIST(COST_NAME)};

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
	for (int i = 0; i < COSTS; i++) {
		if (strcasecmp(names[i], name) == 0)
			return i;
	}
	return -ENOENT;
}

const char *cost_name(enum cost cost)
{
	return names[cost];
}
