// SPDX-License-Identifier: GPL-2.0-or-later
/* The probe offcpu: how long threads were off their CPU, by the stack they left with. */
#include "bpf/shared/scheduler.h"
#include "hooks/tracer_sched.h"
#include "kernel/tracer_waits.h"
#include "measure/measure.h"
#include "probes/probe_needs.h"
#include "select/param.h"

#define NO_WAITING "threads that wait already when it starts have no stack"

/* Waits that off-CPU shows. */
enum offcpu_state {
	OFFCPU_SD,  /* interruptible or uninterruptible */
	OFFCPU_D,   /* uninterruptible */
	OFFCPU_ALL, /* in any state: preempted and stopped, too */
};

/* By enum offcpu_state. */
static const char *const state_names[] = {"sd", "d", "all", NULL};
static const uint32_t states[] = {
	[OFFCPU_SD] = 1u << WAIT_SLEEP | 1u << WAIT_DISK,
	[OFFCPU_D] = 1u << WAIT_DISK,
	[OFFCPU_ALL] = 1u << WAIT_RUNNABLE | 1u << WAIT_SLEEP | 1u << WAIT_DISK | 1u << WAIT_OTHER,
};

struct offcpu_params {
	int64_t minblock_us, maxblock_us;
	int64_t state; /* enum offcpu_state */
	int64_t split; /* show the time after the wake-up apart */
	int64_t depth; /* user frames */
};
PARAMS_FIT(struct offcpu_params);

/* clang-format off */
static const struct param params[] = {
	{"minblock", PARAM_NUMBER_OF(struct offcpu_params, minblock_us), .max = UINT32_MAX - 1,
	 .number = 50, .unit = "us", .logged = true,
	 .help = "the profile doesn't show shorter waits"},
	{"maxblock", PARAM_NUMBER_OF(struct offcpu_params, maxblock_us), .min = 1,
	 .max = INT64_MAX, .number = 3600000000, .unit = "us",
	 .help = "the profile doesn't show longer waits, GET counts them "
		 "(`waits_over_maxblock`). JSON's numbers are exact up to 2^53 (285 years)"},
	{"offcpu_state", PARAM_CHOICE_OF(struct offcpu_params, state, state_names),
	 .number = OFFCPU_SD,
	 .help = "`sd`: interruptible and uninterruptible waits; `d`: uninterruptible waits; "
		 "`all`: also threads that were preempted or stopped"},
	{"offcpu_split", PARAM_NUMBER_OF(struct offcpu_params, split), .max = 1,
	 .help = "1: the time after the wake-up stands apart, under the leaf `[runqueue]`"},
	{"offcpu_depth", PARAM_NUMBER_OF(struct offcpu_params, depth), .min = 16, .max = 1000,
	 .number = 256, .unit = "frames",
	 .help = "the most user frames that stackprobe walks of a wait"},
	{0},
};
/* clang-format on */

static const struct part_row parts[] = {
	[PART_RUNQUEUE] = {{"[runqueue]"}}, /* woken, but not on a CPU yet */
};

static const struct pprof_page pages[] = {
	{"offcpu", NULL, 30, "time blocked, seen for seconds=N (30)"},
	{0},
};

struct offcpu_stats {
	uint64_t over_maxblock, unseen;
};
KIND_STATS_FIT(struct offcpu_stats);

static const struct measure numbers[] = {
	{"waits_over_maxblock_total", "waits_over_maxblock", COUNTER,
	 "Waits that off-CPU left out, for they were longer than maxblock.",
	 MEASURE_AT(offcpu_stats, over_maxblock)},
	{"unseen_waits", "unseen_waits", GAUGE,
	 "Threads that waited without a stack when the last window ended.",
	 MEASURE_AT(offcpu_stats, unseen)},
};

static const struct measures measures = {"Probes: off-CPU", "status.probes.offcpu",
					 MEASURE_ROWS(numbers)};

static void count_waits(const struct tracer *tracer, const struct counters *counters,
			union kind_stats *stats)
{
	struct offcpu_stats *mine = (struct offcpu_stats *)(void *)stats;

	mine->over_maxblock = counters->waits_over_maxblock;
	mine->unseen = tracer_unseen_waits(tracer);
}

/* A time too long for ns becomes the longest one. */
static uint64_t ns_of_us(int64_t us)
{
	return (uint64_t)us > UINT64_MAX / 1000 ? UINT64_MAX : (uint64_t)us * 1000;
}

static int start_switches(struct probe_run *run, struct why *why)
{
	const struct offcpu_params *wanted = run->settings;
	const struct offcpu_settings settings = {
		.minblock_ns = ns_of_us(wanted->minblock_us),
		.maxblock_ns = ns_of_us(wanted->maxblock_us),
		.states = states[wanted->state],
		.depth = (uint32_t)wanted->depth,
		.split = wanted->split,
	};

	return tracer_offcpu(run->tracer, &settings, why);
}

static void stop_switches(struct probe_run *run)
{
	tracer_offcpu_stop(run->tracer);
}

const struct kind probe_offcpu = {
	.name = "offcpu",
	.title = "Off-CPU Time Flame Graph",
	.count_name = "us",
	.for_users = true,
	.at_switch = true,
	.at_tracepoint = true,
	.unit = 1000, /* ns */
	.event_name = "waits",
	.event_title = "Off-CPU Waits Flame Graph",
	.pprof = {.values = {{"waits", "count", PPROF_EVENTS},
			     {"off_cpu", "nanoseconds", PPROF_WEIGHT, 1000}},
		  .period_type = "",
		  .period_unit = ""},
	.upload = {"off_cpu", "gala-gopher-offcpu", ".wall", "samples",
		   1000000}, /* folded text is in us */
	.deepflow = 2,
	.recorded_max = 1ULL << 56, /* ns: 2 years, of waits that end in the window */
	.pages = pages,
	PARTS(parts),
	.params = params,
	.measures = &measures,
	.count = count_waits,
	.needs = {NEEDS_PROGRAMS,
		  {CAN_TYPED_TRACEPOINT},
		  NEEDS_DATA,
		  {CAN_ITERATE_SLEEPABLE, .limit = NO_WAITING},
		  NEEDS_KERNEL_NAMES,
		  NEEDS_FILE_NAMES},
	.loads = offcpu_loads,
	.start = start_switches,
	.stop = stop_switches,
};
