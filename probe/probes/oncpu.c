// SPDX-License-Identifier: GPL-2.0-or-later
/* The probe oncpu: samples who has a CPU, by each CPU's clock. */
#include "kernel/tracer.h"
#include "probes/probe_needs.h"

static const struct pprof_page pages[] = {
	{"profile", NULL, 30, "CPU time, sampled for seconds=N (30)"},
	{0},
};

/* Loads the program early. A failure is ignored: it will occur again at the start. */
static void prepare_clock(struct probe_run *run)
{
	tracer_load(run->tracer, NULL);
}

static int start_clock(struct probe_run *run, struct why *why)
{
	return tracer_sample(run->tracer, run->period_ns, why);
}

static void stop_clock(struct probe_run *run)
{
	tracer_sample_stop(run->tracer);
}

const struct kind probe_oncpu = {
	.name = "oncpu",
	.title = "On-CPU Time Flame Graph",
	.count_name = "samples",
	.for_users = true,
	.by_period = true,
	.pprof = {.values = {{"samples", "count", PPROF_WEIGHT},
			     {"cpu", "nanoseconds", PPROF_PERIODS}},
		  .period_type = "cpu",
		  .period_unit = "nanoseconds"},
	.upload = {"process_cpu", "gala-gopher-oncpu", "", "samples", 0},
	.deepflow = 1,
	.recorded_max = 1ULL << 50, /* ns: 13 days */
	.pages = pages,
	.needs =
		{NEEDS_PROGRAMS, {CAN_CPU_CLOCK}, NEEDS_DATA, NEEDS_KERNEL_NAMES, NEEDS_FILE_NAMES},
	.prepare = prepare_clock,
	.loads = sample_loads,
	.start = start_clock,
	.stop = stop_clock,
};
