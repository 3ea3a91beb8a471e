// SPDX-License-Identifier: GPL-2.0-or-later
#include "sched/sched_kind.h"

#include <errno.h>
#include <strings.h>

/* Most needs are those of following processes, which the tracer always does. */
static const struct kind_need of_switches[KIND_NEEDS_MAX] = {
	NEEDS_PROGRAMS,
	NEEDS_DATA,
	{.what = CAN_TYPED_TRACEPOINT},
};

static const struct kind_need of_clock[KIND_NEEDS_MAX] = {
	NEEDS_PROGRAMS,
	NEEDS_DATA,
	{.what = CAN_CPU_CLOCK},
};

static const struct sched_kind kinds[SCHED_COUNT] = {
	[SCHED_RUNQLAT] = {"runqlat", "waits for a CPU", of_switches, true},
	[SCHED_RUNQLEN] = {"runqlen", "looks at run queues", of_clock, false},
	[SCHED_RUNQSLOWER] = {"runqslower", "long waits for a CPU", of_switches, false},
	[SCHED_CPUDIST] = {"cpudist", "times on a CPU", of_switches, true},
	[SCHED_OFFCPUDIST] = {"offcpudist", "times off a CPU", of_switches, true},
};

const struct sched_kind *sched_kind_get(enum sched_probe probe)
{
	return &kinds[probe];
}

int sched_kind_find(const char *name)
{
	for (int i = 0; i < SCHED_COUNT; i++) {
		if (strcasecmp(kinds[i].name, name) == 0)
			return i;
	}
	return -ENOENT;
}
