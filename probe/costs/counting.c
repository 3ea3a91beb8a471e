// SPDX-License-Identifier: GPL-2.0-or-later
#include "costs/counting.h"

#include <time.h>

#include "base/clock.h"

enum cost_probe counting_probe(enum cost_counter which)
{
	static const enum cost_probe probes[COST_COUNTERS] = {
		[COUNTER_SOFTIRQ] = PROC_SOFTIRQ,
		[COUNTER_CACHE] = PROC_PAGECACHE,
		[COUNTER_WAKE] = PROC_WAKEUP,
	};

	return probes[which];
}

int counting_start(struct counting *counting, enum cost_counter which, struct why *why)
{
	if (counting->from_ns[which])
		return 0;
	int r = tracer_counter_start(counting->tracer, which, why);
	if (r < 0)
		return r;
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

	source->fd = -1;
	for (int i = 0; i < COST_COUNTERS; i++)
		source->counters[i] = (struct counter_fds){-1, -1, 0};
	for (int i = 0; i < COST_COUNTERS && r == 0; i++)
		r = tracer_counter_open(counting->tracer, (enum cost_counter)i,
					&source->counters[i]);
	return r;
}

void counting_forget(const struct counting *counting, const struct cost_table *table,
		     const struct cost_counts *counts)
{
	for (size_t i = 0; i < counts->count; i++) {
		if (!cost_table_has_ended(table, &counts->all[i].key))
			continue;
		for (int j = 0; j < COST_COUNTERS; j++)
			tracer_counter_forget(counting->tracer, (enum cost_counter)j,
					      &counts->all[i].key);
	}
}
