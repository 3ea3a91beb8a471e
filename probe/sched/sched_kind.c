// SPDX-License-Identifier: GPL-2.0-or-later
#include "sched/sched_kind.h"

#include <errno.h>
#include <strings.h>

static const struct sched_kind kinds[SCHED_COUNT] = {
	[SCHED_RUNQLAT] = {"runqlat", "waits for a CPU", "sched_runq_latency_seconds",
			   "How long tasks waited for a CPU, runnable."},
	[SCHED_RUNQLEN] = {"runqlen", "looks at run queues", "sched_runq_length",
			   "Tasks that waited for the CPU when it was looked at."},
	[SCHED_RUNQSLOWER] = {"runqslower", "long waits for a CPU", "sched_runq_slow_total",
			      "Waits for a CPU longer than min_us (runqslower)."},
	[SCHED_CPUDIST] = {"cpudist", "times on a CPU", "sched_oncpu_seconds",
			   "How long tasks had a CPU at a time."},
	[SCHED_OFFCPUDIST] = {"offcpudist", "times off a CPU", "sched_offcpu_seconds",
			      "How long tasks were off their CPU, blocked."},
	[SCHED_OFFCPUSLOWER] = {"offcpuslower", "long times off a CPU", "sched_offcpu_slow_total",
				"Times off a CPU, blocked, longer than min_us (offcpuslower)."},
	[SCHED_FIRSTRUN] = {"firstrun", "first waits of new threads",
			    "sched_first_run_latency_seconds",
			    "How long new threads waited for their first time on a CPU."},
};

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

const struct sched_kind *sched_kind_get(enum sched_probe probe)
{
	return &kinds[probe];
}

const struct kind_need *sched_kind_needs(enum sched_probe probe)
{
	return sched_probes_at(CPU_LOOKED_AT) & 1U << probe ? of_clock : of_switches;
}

int sched_kind_find(const char *name)
{
	for (int i = 0; i < SCHED_COUNT; i++) {
		if (strcasecmp(kinds[i].name, name) == 0)
			return i;
	}
	return -ENOENT;
}
