// SPDX-License-Identifier: GPL-2.0-or-later
#include "measure/measure.h"
#include "target/target.h"

static uint64_t targets_refused(const void *stats)
{
	const struct targets_stats *targets = stats;

	return targets->refused + targets->table.refused;
}

#define AT(member) MEASURE_AT(targets_stats, member)

static const struct measure rows[] = {
	{"targets", NULL, GAUGE, "Processes that match and live.", AT(alive)},
	{"targets_ended_total", NULL, COUNTER, "Processes (and names of them) that ended.",
	 AT(table.ended)},
	{"targets_refused_total", NULL, COUNTER, "Processes that found no room in a table.",
	 .count = targets_refused},
	{"mappings_left_out_total", "mappings_left_out", COUNTER,
	 "Mappings that have no names: their process has too many, or their paths are too long.",
	 AT(mappings_left_out)},
};

const struct measures target_measures = {"Processes", "status", MEASURE_ROWS(rows)};

static const struct measure container_rows[] = {
	{"containers_searches_failed_total", "searches_failed", COUNTER,
	 "Searches for processes of containers that were given up or found no memory; they are "
	 "made again.",
	 AT(searches_failed)},
};

const struct measures target_container_measures = {"Containers", "status.containers",
						   MEASURE_ROWS(container_rows)};
