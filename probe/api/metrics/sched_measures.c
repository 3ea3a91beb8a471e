// SPDX-License-Identifier: GPL-2.0-or-later
/* The rows of /sched; metrics_sched.c writes them. */
#include "api/metrics/metrics_lines.h"

static void write_sched(struct buf *out, const void *stats)
{
	const struct figures *figures = stats;

	metrics_sched(out, figures->services);
}

#define ROW(the_name, the_type, sentence)                                                          \
	.name = "sched_" the_name, .type = (the_type), .help = (sentence)

static const struct measure rows[] = {
	{ROW("runq_latency_seconds", HISTOGRAM, "How long tasks waited for a CPU, runnable.")},
	{ROW("oncpu_seconds", HISTOGRAM, "How long tasks had a CPU at a time.")},
	{ROW("offcpu_seconds", HISTOGRAM, "How long tasks were off their CPU, blocked.")},
	{ROW("runq_length", HISTOGRAM, "Tasks that waited for the CPU when it was looked at."),
	 .labels = "cpu"},
	{ROW("runq_occupancy_ratio", GAUGE,
	     "Part of the looks at which a task waited for the CPU."),
	 .labels = "cpu"},
	{ROW("runq_slow_total", COUNTER, "Waits for a CPU longer than min_us (runqslower).")},
	{ROW("runq_slow_lost_total", COUNTER,
	     "Of these, events that found no room in the ring buffer.")},
	{ROW("groups_refused_total", COUNTER,
	     "Values of groups that found no room in the histograms.")},
};

const struct measures sched_measures = {"/sched", "", MEASURE_ROWS(rows), .write = write_sched};
