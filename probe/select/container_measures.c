// SPDX-License-Identifier: GPL-2.0-or-later
#include "measure/measure.h"
#include "select/containers.h"

#define AT(member) MEASURE_AT(containers_stats, member)

static const struct measure rows[] = {
	{"containers", "known", GAUGE, "Containers that are known.", AT(containers)},
	{NULL, "cgroups", GAUGE, "Cgroups that are known.", AT(groups)},
	{"containers_refused_total", "refused", COUNTER,
	 "Processes of a container that found no room among those known.", AT(refused)},
	{"containers_unnamed_total", "unnamed", COUNTER,
	 "Containers of which their runtime told nothing.", AT(unnamed)},
	{"containers_given_up_total", "given_up", COUNTER,
	 "Readings of containers' names that took too long.", AT(given_up)},
};

const struct measures container_measures = {"Containers", "status.containers", MEASURE_ROWS(rows)};
