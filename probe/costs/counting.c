// SPDX-License-Identifier: GPL-2.0-or-later
#include "costs/counting.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"

enum cost_probe counting_probe(enum cost_counter which)
{
	static const enum cost_probe probes[COST_COUNTERS] = {
		[COUNTER_SOFTIRQ] = PROC_SOFTIRQ,
		[COUNTER_CACHE] = PROC_PAGECACHE,
		[COUNTER_WAKE] = PROC_WAKEUP,
		[COUNTER_PMU] = PROC_CPU,
	};

	return probes[which];
}

const char *counting_absent(const struct tracer *tracer, enum cost_probe probe)
{
	for (int i = 0; i < COST_COUNTERS; i++) {
		if (counting_probe((enum cost_counter)i) == probe)
			return tracer_counter_absent(tracer, (enum cost_counter)i);
	}
	return NULL;
}

int counting_start(struct counting *counting, enum cost_counter which, struct why *why)
{
	if (counting->from_ns[which])
		return 0;
	int r = tracer_counter_start(counting->tracer, which, why);
	if (r < 0 || !tracer_counter_known(counting->tracer, which))
		return r; /* the machine has nothing of it: tracer_counter_absent() */
	counting->from_ns[which] = clock_ns(CLOCK_REALTIME);
	return 1;
}

void counting_stop(struct counting *counting, enum cost_counter which)
{
	tracer_counter_stop(counting->tracer, which);
	counting->from_ns[which] = 0;
}

int counting_open(const struct counting *counting, struct cost_source *source)
{
	int r = 0;

	source->fd = source->ended_fd = -1;
	for (int i = 0; i < COST_COUNTERS; i++)
		source->counters[i] = (struct counter_fds){-1, -1, 0};
	for (int i = 0; i < COST_COUNTERS && r == 0; i++)
		r = tracer_counter_open(counting->tracer, (enum cost_counter)i,
					&source->counters[i]);
	return r;
}

static int compare_pids(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

	return left < right ? -1 : left > right;
}

/* Forgets the pairs of processes that have ended, whose pids are sorted. */
static void forget_pairs(const struct counting *counting, const struct cost_counts *counts,
			 const uint32_t *ended, size_t ended_count)
{
	for (size_t i = 0; ended_count && i < counts->pairs.count; i++) {
		const struct wake_pair *pair = &counts->pairs.all[i].pair;

		if (bsearch(&pair->waker, ended, ended_count, sizeof(*ended), compare_pids) ||
		    bsearch(&pair->woken, ended, ended_count, sizeof(*ended), compare_pids))
			tracer_counter_forget_pair(counting->tracer, pair);
	}
}

int counting_forget(const struct counting *counting, const struct cost_table *table,
		    const struct cost_counts *counts, uint64_t ends)
{
	_cleanup_free_ uint32_t *ended = calloc(counts->count + 1, sizeof(*ended));
	size_t ended_count = 0;

	if (!ended)
		return -ENOMEM;
	for (size_t i = 0; i < counts->count; i++) {
		const struct cost_counter_key *key = &counts->all[i].key;

		if (!cost_table_has_ended(table, key, ends))
			continue;
		ended[ended_count++] = (uint32_t)key->tgid;
		for (int j = 0; j < COST_COUNTERS; j++)
			tracer_counter_forget(counting->tracer, (enum cost_counter)j, key);
	}
	qsort(ended, ended_count, sizeof(*ended), compare_pids);
	forget_pairs(counting, counts, ended, ended_count);
	return 0;
}
