// SPDX-License-Identifier: GPL-2.0-or-later
#include "costs/cost_counts.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "kernel/map_batches.h"

/* Which values a counter has, and the size of its counts, which begin with these values (but for
 * softirqs). */
static const struct {
	int from, to; /* enum cost */
	size_t bytes;
} counters[COST_COUNTERS] = {
	[COUNTER_SOFTIRQ] = {COST_SOFTIRQ, COST_CACHE_HIT, sizeof(struct softirq_counts)},
	[COUNTER_CACHE] = {COST_CACHE_HIT, COST_WAKE_WOKEN, sizeof(struct cache_counts)},
	[COUNTER_WAKE] = {COST_WAKE_WOKEN, COST_PMU_CYCLES, sizeof(struct wake_counts)},
	[COUNTER_PMU] = {COST_PMU_CYCLES, COST_RSS, sizeof(struct pmu_counts)},
};

static void place_softirqs(struct cost_more *more, const struct softirq_counts *counted)
{
	for (int i = 0; i < SOFTIRQS; i++) {
		more->of[COST_SOFTIRQ_HI - COSTS + 2 * i] = counted->count[i];
		more->of[COST_SOFTIRQ_HI_NS - COSTS + 2 * i] = counted->ns[i];
		more->of[COST_SOFTIRQ - COSTS] += counted->count[i];
		more->of[COST_SOFTIRQ_NS - COSTS] += counted->ns[i];
	}
}

/* Puts the counts of one kind at the places of their values. */
static void place_values(struct cost_more *more, enum cost_counter which, const void *counted)
{
	int from = counters[which].from, to = counters[which].to;

	if (which == COUNTER_SOFTIRQ)
		place_softirqs(more, counted);
	else
		memcpy(&more->of[from - COSTS], counted, (size_t)(to - from) * sizeof(more->of[0]));
}

/* Counts of one kind, which are read. */
struct counts_reading {
	struct cost_counts *counts;
	enum cost_counter which;
};

static int add_entries(void *arg, const void *keys_, const void *values_, size_t count)
{
	struct cost_counts *counts = ((const struct counts_reading *)arg)->counts;
	enum cost_counter which = ((const struct counts_reading *)arg)->which;
	const struct cost_counter_key *keys = keys_;
	const char *values = values_;
	size_t bytes = counters[which].bytes;
	struct counted_cost *grown =
		reallocarray(counts->all, counts->count + count + 1, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	counts->all = grown;
	for (size_t i = 0; i < count; i++) {
		struct counted_cost *counted = &grown[counts->count++];

		*counted = (struct counted_cost){.key = keys[i]};
		place_values(&counted->more, which, values + i * bytes);
	}
	return 0;
}

static int read_processes(struct cost_counts *counts, enum cost_counter which, int fd)
{
	struct counts_reading reading = {counts, which};
	const struct map_batches batches = {fd, sizeof(struct cost_counter_key),
					    counters[which].bytes, add_entries, &reading};

	return map_batches_read(&batches);
}

/* Has the CPUs' counters read for what runs now. Where that can't be (a CPU is off-line) they are
 * as of the last switch. */
static void count_running(const struct counter_fds *fds)
{
	for (unsigned cpu = 0; cpu < fds->cpus; cpu++) {
		LIBBPF_OPTS(bpf_test_run_opts, run);

		run.cpu = cpu;
		run.flags = BPF_F_TEST_RUN_ON_CPU;
		bpf_prog_test_run_opts(fds->beside, &run);
	}
}

static int read_cpus(struct cost_counts *counts, const struct counter_fds *fds)
{
	uint32_t zero = 0;

	counts->cpus = calloc(fds->cpus, sizeof(*counts->cpus));
	if (!counts->cpus)
		return -ENOMEM;
	counts->cpus_count = fds->cpus;
	return bpf_map_lookup_elem(fds->beside, &zero, counts->cpus) < 0 ? -errno : 0;
}

int cost_counts_read(struct cost_counts *counts, enum cost_counter which,
		     const struct counter_fds *fds)
{
	if (fds->by_process < 0)
		return 0;
	if (which == COUNTER_PMU)
		count_running(fds);
	int r = read_processes(counts, which, fds->by_process);
	if (r == 0 && which == COUNTER_SOFTIRQ)
		r = read_cpus(counts, fds);
	if (r == 0 && which == COUNTER_WAKE)
		r = keyed_counts_read(&counts->pairs, fds->beside);
	if (r == 0 && which == COUNTER_CACHE)
		r = keyed_counts_read(&counts->evictions, fds->beside);
	return r;
}

void cost_counts_done(struct cost_counts *counts)
{
	free(counts->all);
	free(counts->cpus);
	keyed_counts_done(&counts->pairs);
	keyed_counts_done(&counts->evictions);
	*counts = (struct cost_counts){0};
}

void cost_sums_add(struct cost_sums *to, const struct cost_sums *more)
{
	for (int i = 0; i < COSTS; i++)
		to->of[i] += more->of[i];
}

void cost_more_add(struct cost_more *to, const struct cost_more *more)
{
	for (int i = 0; i < COSTS_MORE; i++)
		to->of[i] += more->of[i];
}

void cost_more_subtract(struct cost_more *from, const struct cost_more *before)
{
	for (int i = 0; i < COSTS_MORE; i++)
		from->of[i] -= before->of[i] < from->of[i] ? before->of[i] : from->of[i];
}

void cost_more_clear(struct cost_more *more, enum cost_counter which)
{
	int from = counters[which].from, to = counters[which].to;

	memset(&more->of[from - COSTS], 0, (size_t)(to - from) * sizeof(more->of[0]));
}
