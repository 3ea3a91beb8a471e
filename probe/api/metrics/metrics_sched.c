// SPDX-License-Identifier: GPL-2.0-or-later
/* Writes the counts of the probes of /sched, of all groups together. */
#include "api/metrics/metrics_lines.h"
#include "sched/sched.h"

#define LENGTHS_SHOWN 32 /* le 0, 1, 2, 4, … */

static void put_histogram(struct buf *out, const struct sched_data *data)
{
	const char *name = sched_kind_get(data->probe)->metric_name;
	uint64_t count = 0;
	struct hist sum;

	sched_data_sum(data, &sum);
	metrics_head(out, name, "histogram", sched_kind_get(data->probe)->metric_help);
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
	const struct sched_kind *kind = sched_kind_get(data->probe);

	metrics_head(out, kind->metric_name, "histogram", kind->metric_help);
	for (size_t i = 0; i < data->count; i++)
		put_lengths(out, kind->metric_name, &data->lengths[i]);
	metrics_head(out, "sched_runq_occupancy_ratio", "gauge",
		     "Part of the looks at which a task waited for the CPU.");
	for (size_t i = 0; i < data->count; i++) {
		const struct lengths *lengths = &data->lengths[i].lengths;
		uint64_t count = lengths_count(lengths);

		if (count)
			buf_printf(out, "stackprobe_sched_runq_occupancy_ratio{cpu=\"%u\"} %.6f\n",
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
		const struct sched_kind *kind = sched_kind_get(i);

		if (sched_form(i) == SCHED_EVENTS)
			metrics_one(out, kind->metric_name, "counter", kind->metric_help,
				    (double)counters->slow_waits);
	}
	metrics_one(out, "sched_runq_slow_lost_total", "counter",
		    "Of these, events that found no room in the ring buffer.",
		    (double)counters->slow_lost);
	metrics_one(out, "sched_groups_refused_total", "counter",
		    "Values of groups that found no room in the histograms.",
		    (double)counters->hists_refused);
}

void metrics_sched(struct buf *out, const struct services *services)
{
	struct counters counters;

	for (int i = 0; i < SCHED_COUNT; i++) {
		if (forms[sched_form(i)])
			put_probe(out, services->sched, i);
	}
	tracer_counters(engine_tracer(services->engine), &counters);
	put_counters(out, &counters);
}

void metrics_sched_up(struct buf *out, const struct services *services)
{
	for (int i = 0; i < SCHED_COUNT; i++) {
		const char *why, *state = sched_state(services->sched, i, &why);

		buf_printf(out, "stackprobe_probe_up{feature=\"sched\",probe=\"%s\"} %d\n",
			   sched_kind_get(i)->name, state[0] == 'r');
	}
}
