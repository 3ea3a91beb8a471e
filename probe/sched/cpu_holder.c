// SPDX-License-Identifier: GPL-2.0-or-later
#include "sched/cpu_holder.h"

#include <string.h>

/* Returns the part of a slice that lies in the wait, ns. */
static uint64_t part_ns(const struct slow_event *event, const struct slice *slice)
{
	uint64_t queued_ns = event->time_ns - event->delay_ns;
	uint64_t from_ns = slice->ended_ns - slice->ran_ns, until_ns = slice->ended_ns;

	if (from_ns < queued_ns)
		from_ns = queued_ns;
	if (until_ns > event->time_ns)
		until_ns = event->time_ns;
	return until_ns > from_ns ? until_ns - from_ns : 0;
}

static uint64_t sum_of(const struct slow_event *event, const struct slice *slices, uint32_t tid)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < event->slices_count; i++) {
		if (slices[i].tid == tid)
			sum += part_ns(event, &slices[i]);
	}
	return sum;
}

void cpu_holder_find(struct cpu_holder *holder, const struct slow_event *event,
		     const struct slice *slices)
{
	*holder = (struct cpu_holder){0};
	if (event->slices_count)
		holder->before = slices[0];
	for (uint32_t i = 0; i < event->slices_count; i++) {
		uint64_t sum = slices[i].tid ? sum_of(event, slices, slices[i].tid) : 0;

		if (sum <= holder->most_ns)
			continue;
		holder->most_ns = sum;
		holder->most_tid = slices[i].tid;
		memcpy(holder->most_comm, slices[i].comm, sizeof(holder->most_comm));
	}
}
