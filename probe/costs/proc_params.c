// SPDX-License-Identifier: GPL-2.0-or-later
#include "costs/proc_params.h"

#include "base/cleanup.h"
#include "costs/cost_kind.h"

/* clang-format off */
static const struct param rows[] = {
	{"group_by", PARAM_CHOICE_OF(struct params, proc.group_by, cost_groups), .number = COST_BY_PID,
	 .help = "a row for each process, name, cgroup, container or pod; or one row in all"},
	{"report_period", PARAM_NUMBER_OF(struct params, proc.report_period_s), .min = 5,
	 .max = 600, .number = 60, .unit = "s",
	 .help = "at this interval all processes are read, also if nobody asks: so the containers "
		 "of processes are known that end later"},
};
/* clang-format on */

static const struct param_table table = {rows, ARRAY_SIZE(rows)};

const struct param_table *proc_params(void)
{
	return &table;
}
