// SPDX-License-Identifier: GPL-2.0-or-later
/* The rows of /sched, and the counts of its probes, of all groups together. */
#include <string.h>

#include "api/metrics/metrics_lines.h"
#include "base/cleanup.h"
#include "sched/sched.h"
#include "sched/sched_kind.h"

#define LENGTHS_SHOWN 32 /* le 0, 1, 2, 4, … */

/* Rows that are no probe's. */
enum { OCCUPANCY, SLOW_LOST, GROUPS_REFUSED, SPANS_BACKWARDS, OTHERS };

static const struct measure others[OTHERS] = {
	[OCCUPANCY] = {.name = "sched_runq_occupancy_ratio",
		       .type = GAUGE,
		       .help = "Part of the looks at which a task waited for the CPU.",
		       .labels = "cpu"},
	[SLOW_LOST] = {.name = "sched_runq_slow_lost_total",
		       .type = COUNTER,
		       .help = "Slow waits (runqslower, offcpuslower) that found no room in the "
			       "ring buffer."},
	[GROUPS_REFUSED] = {.name = "sched_groups_refused_total",
			    .type = COUNTER,
			    .help = "Values of groups that found no room in the histograms."},
	[SPANS_BACKWARDS] = {.name = "sched_spans_backwards_total",
			     .type = COUNTER,
			     .help = "Waits and times on a CPU that ended before they began, by "
				     "the kernel's clock, and are counted nowhere."},
};

/* Those of THE TABLE of probes, and the others. */
static struct measure rows[SCHED_COUNT + OTHERS];

static void put_head(struct buf *out, const struct measure *row)
{
	measure_head(out, row->name, row->type, row->help);
}

static void put_counter(struct buf *out, const struct measure *row, uint64_t value)
{
	put_head(out, row);
	buf_printf(out, "stackprobe_%s %llu\n", row->name, (unsigned long long)value);
}

static void put_histogram(struct buf *out, const struct sched_data *data)
{
	const char *name = rows[data->probe].name;
	uint64_t count = 0;
	struct hist sum;

	sched_data_sum(data, &sum);
	put_head(out, &rows[data->probe]);
	for (size_t i = 0; i < HIST_SLOTS; i++) {
		count += sum.slots[i];
		if (i + 1 < HIST_SLOTS)
			buf_printf(out, "stackprobe_%s_bucket{le=\"%.9g\"} %llu\n", name,
				   (double)(1ULL << i) / 1e6, (unsigned long long)count);
		else
			buf_printf(out, "stackprobe_%s_bucket{le=\"+Inf\"} %llu\n", name,
				   (unsigned long long)count);
	}
	buf_printf(out, "stackprobe_%s_sum %.9f\nstackprobe_%s_count %llu\n", name,
		   (double)sum.sum_ns / 1e9, name, (unsigned long long)count);
}

static void put_lengths(struct buf *out, const char *name, const struct cpu_lengths *one)
{
	const uint64_t *slots = one->lengths.slots;
	uint64_t count = 0, sum = 0;

	for (size_t i = 0; i < LENGTH_SLOTS; i++) {
		count += slots[i];
		sum += i * slots[i];
		if (i <= LENGTHS_SHOWN && (i & (i - 1)) == 0)
			buf_printf(out, "stackprobe_%s_bucket{cpu=\"%u\",le=\"%zu\"} %llu\n", name,
				   one->cpu, i, (unsigned long long)count);
	}
	buf_printf(out, "stackprobe_%s_bucket{cpu=\"%u\",le=\"+Inf\"} %llu\n", name, one->cpu,
		   (unsigned long long)count);
	buf_printf(
		out, "stackprobe_%s_sum{cpu=\"%u\"} %llu\nstackprobe_%s_count{cpu=\"%u\"} %llu\n",
		name, one->cpu, (unsigned long long)sum, name, one->cpu, (unsigned long long)count);
}

static void put_cpus(struct buf *out, const struct sched_data *data)
{
	const struct measure *row = &rows[data->probe];

	put_head(out, row);
	for (size_t i = 0; i < data->count; i++)
		put_lengths(out, row->name, &data->lengths[i]);
	put_head(out, &others[OCCUPANCY]);
	for (size_t i = 0; i < data->count; i++) {
		const struct lengths *lengths = &data->lengths[i].lengths;
		uint64_t count = lengths_count(lengths);

		if (count)
			buf_printf(out, "stackprobe_%s{cpu=\"%u\"} %.6f\n", others[OCCUPANCY].name,
				   data->lengths[i].cpu,
				   (double)(count - lengths->slots[0]) / (double)count);
	}
}

/* What a form of data is written by; NULL: of events the kernel's side has the number. */
static void (*const forms[SCHED_FORMS])(struct buf *out, const struct sched_data *data) = {
	[SCHED_HIST] = put_histogram,
	[SCHED_LENGTHS] = put_cpus,
	[SCHED_EVENTS] = NULL,
};

static void put_probe(struct buf *out, struct sched *sched, enum sched_probe probe)
{
	_cleanup_sched_data_ struct sched_data fresh = {0};
	const struct sched_data *data;

	if (sched_read(sched, probe, &fresh, &data) == 0)
		forms[sched_form(probe)](out, data);
}

static void put_counters(struct buf *out, const struct counters *counters)
{
	for (int i = 0; i < SCHED_COUNT; i++) {
		if (sched_form(i) == SCHED_EVENTS)
			put_counter(out, &rows[i], counters->slow_waits[i]);
	}
	put_counter(out, &others[SLOW_LOST], counters->slow_lost);
	put_counter(out, &others[GROUPS_REFUSED], counters->hists_refused);
	put_counter(out, &others[SPANS_BACKWARDS], counters->spans_backwards);
}

static void write_sched(struct buf *out, const void *stats)
{
	const struct services *services = ((const struct figures *)stats)->services;
	struct counters counters;

	for (int i = 0; i < SCHED_COUNT; i++) {
		if (forms[sched_form(i)])
			put_probe(out, services->sched, i);
	}
	tracer_counters(engine_tracer(services->engine), &counters);
	put_counters(out, &counters);
}

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
