/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Histograms of the feature /sched, filled at a switch (bpf/sched.bpf.c) as THE LIST says
 * (bpf/shared/sched_probes.h). A task is grouped by its own values, never by those of the current
 * task.
 */
#pragma once

#include "bpf/core/task.h"
#include "bpf/sched/scaled.h"
#include "bpf/sched/slow.h"
#include "bpf/sched/wait.h"

/* Histograms of each CPU: switches on a CPU are never nested, so no atomic add is needed. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, SCHED_COUNT);
	__type(key, uint32_t);
	__type(value, struct hist);
} hists_all SEC(".maps");

/* Holds one map while a probe is grouped; the daemon chooses its size. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__array(
		values, struct {
			__uint(type, BPF_MAP_TYPE_HASH);
			__uint(max_entries, 1);
			/* The types are left out here, as in the daemon's map: Linux 6.1 compares
			 * them. */
			__uint(key_size, sizeof(struct hist_key));
			__uint(value_size, sizeof(struct hist));
		});
} hists_grouped SEC(".maps");

uint32_t slot_of(uint64_t ns);

/* Returns hist_slot(ns). A global function: the verifier follows its many paths once, and not again
 * for each path of the callers. */
__noinline uint32_t slot_of(uint64_t ns)
{
	return hist_slot(ns);
}

/* Makes the histogram of a new group. Returns NULL, and counts it, if there is no room. */
static __noinline struct hist *hist_make(void *hists, struct task_struct *task,
					 const struct hist_key *key, uint32_t group_by)
{
	static const struct hist none;
	struct hist *hist;

	bpf_map_update_elem(hists, key, &none, BPF_NOEXIST);
	hist = bpf_map_lookup_elem(hists, key);
	if (!hist)
		count_refused_hist();
	else
		group_name(hist->comm, task, group_by);
	return hist;
}

static __always_inline void hist_count_grouped(struct task_struct *task, uint32_t probe,
					       uint32_t group_by, uint64_t ns)
{
	struct hist_key key = {.group = group_of(task, group_by), .probe = probe};
	uint32_t zero = 0;
	uint64_t slot;
	void *hists = bpf_map_lookup_elem(&hists_grouped, &zero);
	struct hist *hist;

	if (!hists)
		return;
	hist = bpf_map_lookup_elem(hists, &key);
	if (!hist)
		hist = hist_make(hists, task, &key, group_by);
	if (!hist)
		return;
	slot = slot_of(ns);
	if (slot >= HIST_SLOTS)
		return;
	__sync_fetch_and_add(&hist->slots[slot], 1);
	__sync_fetch_and_add(&hist->sum_ns, ns);
}

static __noinline void hist_count(struct task_struct *task, uint32_t probe, uint64_t ns)
{
	uint32_t group_by = sched.group_by[probe];
	uint64_t slot;
	struct hist *hist;

	if (sched.scaled)
		scaled_count(task, probe, group_by, ns);
	if (group_by != GROUP_NONE && group_by != GROUP_CPU) {
		hist_count_grouped(task, probe, group_by, ns);
		return;
	}
	hist = bpf_map_lookup_elem(&hists_all, &probe);
	if (!hist)
		return;
	slot = slot_of(ns);
	if (slot >= HIST_SLOTS)
		return;
	hist->slots[slot]++;
	hist->sum_ns += ns;
}

/* Returns whether a time is later than the start of the histograms: after an earlier event
 * something may have happened unseen. */
static __always_inline bool is_seen(uint64_t time_ns)
{
	return time_ns > sched.hists_since_ns;
}

/* Returns whether a span that was seen from its begin on can be counted. The clock may run back by
 * some ns from one CPU to another while the kernel corrects it: then the span isn't known. */
static __always_inline bool is_span(uint64_t from_ns, uint64_t until_ns)
{
	return is_seen(from_ns) && is_forward(from_ns, until_ns);
}

/* Counts a moment in each probe that counts it. `ns`, `state`: see enum sched_moment. */
static __always_inline void count_moment(enum sched_moment moment, struct task_struct *task,
					 uint64_t ns, uint32_t state, uint64_t now_ns)
{
#define COUNT_PROBE(number, form, of, when)                                                        \
	if (moment == (of) && sched.hists & 1U << SCHED_##number && (when)) {                      \
		if ((form) == SCHED_HIST)                                                          \
			hist_count(task, SCHED_##number, ns);                                      \
		else                                                                               \
			slow_tell(task, SCHED_##number, state, ns, now_ns);                        \
	}
	SCHED_PROBES(COUNT_PROBE)
#undef COUNT_PROBE
}
