/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts by process, for all processes: what programs of ours count for /proc. An object defines
 * COST_COUNTER, the type of a process's counts, and has one such map. */
#pragma once

#include "bpf/core/task.h"
#include "bpf/shared/process_cost.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, COST_COUNTERS_MAX);
	__type(key, struct cost_counter_key);
	__type(value, COST_COUNTER);
} cost_counters SEC(".maps");

/* Events of processes that found no room. */
uint64_t lost_events;

/* Returns the counts of a task's process, made anew if need be; NULL: no room. */
static __always_inline COST_COUNTER *counters_of(struct task_struct *task)
{
	static const COST_COUNTER none;
	struct cost_counter_key key = {.tgid = BPF_CORE_READ(task, tgid)};
	COST_COUNTER *counters;

	if (key.tgid) /* each idle task has a start of its own */
		key.start_ns = BPF_CORE_READ(task, group_leader, start_boottime);
	counters = bpf_map_lookup_elem(&cost_counters, &key);
	if (counters)
		return counters;
	bpf_map_update_elem(&cost_counters, &key, &none, BPF_NOEXIST);
	counters = bpf_map_lookup_elem(&cost_counters, &key);
	if (!counters)
		__sync_fetch_and_add(&lost_events, 1);
	return counters;
}

static __always_inline COST_COUNTER *counters_of_current(void)
{
	return counters_of((struct task_struct *)bpf_get_current_task());
}
