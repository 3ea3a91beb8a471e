// SPDX-License-Identifier: GPL-2.0-or-later
/* The rows of /sched; metrics_sched.c writes them. */
#include <string.h>

#include "api/metrics/metrics_lines.h"
#include "base/cleanup.h"
#include "sched/sched_kind.h"

static void write_sched(struct buf *out, const void *stats)
{
	const struct figures *figures = stats;

	metrics_sched(out, figures->services);
}

/* Rows that are no probe's. */
static const struct measure others[] = {
	{.name = "sched_runq_occupancy_ratio",
	 .type = GAUGE,
	 .help = "Part of the looks at which a task waited for the CPU.",
	 .labels = "cpu"},
	{.name = "sched_runq_slow_lost_total",
	 .type = COUNTER,
	 .help = "Of these, events that found no room in the ring buffer."},
	{.name = "sched_groups_refused_total",
	 .type = COUNTER,
	 .help = "Values of groups that found no room in the histograms."},
};

/* Those of THE TABLE of probes, and the others. */
static struct measure rows[SCHED_COUNT + ARRAY_SIZE(others)];

const struct measures sched_measures = {"/sched", "", MEASURE_ROWS(rows), .write = write_sched};

void sched_measures_make(void)
{
	for (int i = 0; i < SCHED_COUNT; i++) {
		const struct sched_kind *kind = sched_kind_get(i);
		enum sched_form form = sched_form(i);

		rows[i] = (struct measure){.name = kind->metric_name,
					   .type = form == SCHED_EVENTS ? COUNTER : HISTOGRAM,
					   .help = kind->metric_help,
					   .labels = form == SCHED_LENGTHS ? "cpu" : NULL};
	}
	memcpy(&rows[SCHED_COUNT], others, sizeof(others));
}
