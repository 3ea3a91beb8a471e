/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Scaled measurements (bpf/shared/scheduler.h): each has a map of its own while it is on. */
#pragma once

#include "bpf/sched/hist_group.h"
#include "bpf/shared/hist_slot.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, SCALED_MAX);
	__type(key, uint32_t);
	__array(
		values, struct {
			__uint(type, BPF_MAP_TYPE_HASH);
			__uint(max_entries, 1);
			/* No types, as in `hists_grouped`. */
			__uint(key_size, sizeof(struct cell_key));
			__uint(value_size, sizeof(struct cell));
		});
} scaled SEC(".maps");

/* Makes a cell. Returns NULL, and counts it, if there is no room. */
static __noinline struct cell *cell_make(void *cells, struct task_struct *task,
					 const struct cell_key *key, uint32_t group_by)
{
	static const struct cell none;
	struct cell *cell;

	bpf_map_update_elem(cells, key, &none, BPF_NOEXIST);
	cell = bpf_map_lookup_elem(cells, key);
	if (cell)
		group_name(cell->comm, task, group_by);
	else
		count_refused_hist();
	return cell;
}

/* Counts a value in the measurement of that number. */
static __noinline void scaled_add(struct task_struct *task, uint32_t number, uint32_t group_by,
				  uint64_t ns)
{
	struct cell_key key = {.group = group_of(task, group_by)};
	struct cell *cell;
	void *cells;

	if (number >= SCALED_MAX)
		return;
	key.cell = scaled_cell(&sched.scales[number], ns);
	cells = bpf_map_lookup_elem(&scaled, &number);
	if (!cells)
		return;
	cell = bpf_map_lookup_elem(cells, &key);
	if (!cell)
		cell = cell_make(cells, task, &key, group_by);
	if (!cell)
		return;
	__sync_fetch_and_add(&cell->count, 1);
	__sync_fetch_and_add(&cell->sum_ns, ns);
}

/* Counts a value of a probe in each scaled measurement of the probe. */
static __noinline void scaled_count(struct task_struct *task, uint32_t probe, uint32_t group_by,
				    uint64_t ns)
{
	for (uint32_t i = 0; i < SCALED_MAX; i++) {
		if (sched.scaled & 1U << i && sched.scales[i].probe == probe)
			scaled_add(task, i, group_by, ns);
	}
}
