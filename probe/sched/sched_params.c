// SPDX-License-Identifier: GPL-2.0-or-later
#include "sched/sched_params.h"

#include "base/cleanup.h"
#include "bpf/shared/scheduler.h"

/* By enum group_by. */
static const char *const groups[] = {"none", "pid", "tid", "pidns", "cgroup", "cpu", NULL};

/* clang-format off */
static const struct param rows[] = {
	{"min_us", PARAM_NUMBER_OF(struct params, sched.min_us), .max = UINT32_MAX,
	 .number = 10000, .unit = "us",
	 .help = "`runqslower` and `offcpuslower` report waits that are longer. 0: each wait"},
	{"latency_thr", PARAM_NUMBER_OF(struct params, sched.latency_thr_ms), .max = UINT32_MAX / 1000,
	 .number = SCHED_THR_UNSET, .instead_of = "min_us", .unit = "ms",
	 .help = "the same in milliseconds. A PUT with both is refused. GET shows the one that "
		 "was set"},
	{"group_by", PARAM_CHOICE_OF(struct params, sched.group_by, groups), .number = GROUP_NONE,
	 .help = "one histogram for each group. `runqlen` and the probes of events have none. "
		 "`pidns` is the namespace's inode number (`readlink /proc/PID/ns/pid`). "
		 "`cgroup` is the id (the folder's inode number) in the unified hierarchy"},
	{"report_period", PARAM_NUMBER_OF(struct params, sched.report_period_s), .min = 5,
	 .max = 600, .number = 60, .unit = "s",
	 .help = "at this interval a line in the log tells what was counted meanwhile"},
};
/* clang-format on */

static const struct param_table table = {rows, ARRAY_SIZE(rows)};

const struct param_table *sched_params(void)
{
	return &table;
}
