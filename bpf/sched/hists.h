/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Histograms of the feature /sched, filled at a switch (bpf/sched.bpf.c). What a task is grouped by
 * is its own, never the current task's.
 *
 * Absences are those that began with a sleep (S, D), the wait for a CPU after them included. A task
 * that would have gone on isn't absent: that is run-queue latency.
 */
#pragma once

#include "bpf/core/record.h"
#include "bpf/shared/slot.h"
#include "bpf/sched/slow.h"

/* Switches are never nested: each CPU's are its own. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, SCHED_COUNT);
	__type(key, uint32_t);
	__type(value, struct hist);
} hists_all SEC(".maps");

/* One map, of the size that the daemon likes, while a probe is grouped. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__array(
		values, struct {
			__uint(type, BPF_MAP_TYPE_HASH);
			__uint(max_entries, 1);
			/* Without types, as the daemon's: Linux 6.1 tells them apart by that. */
			__uint(key_size, sizeof(struct hist_key));
			__uint(value_size, sizeof(struct hist));
		});
} hists_grouped SEC(".maps");

uint32_t slot_of(uint64_t ns);

/* A global function: the verifier looks at its many ways once, not at each of those that follow for
 * every one of them. */
__noinline uint32_t slot_of(uint64_t ns)
{
	return hist_slot(ns);
}

static __always_inline void count_refused_hist(void)
{
	uint32_t zero = 0;
	struct counters *mine = bpf_map_lookup_elem(&counters, &zero);

	if (mine)
		mine->hists_refused++;
}

/* 0: it is ending, and in no namespace any more. (Of what was read nothing is known, so the address
 * may be reckoned with.) */
static __always_inline uint64_t namespace_of(struct task_struct *task)
{
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	uint64_t number = (uint64_t)pid + bpf_core_field_offset(pid->numbers);

	if (!pid)
		return 0;
	number += BPF_CORE_READ(pid, level) * (uint64_t)bpf_core_type_size(struct upid);
	return BPF_CORE_READ((struct upid *)number, ns, ns.inum);
}

/* In the unified hierarchy (v2); 0: the kernel has no cgroups. */
static __always_inline uint64_t cgroup_of(struct task_struct *task)
{
	if (!bpf_core_field_exists(task->cgroups))
		return 0;
	return BPF_CORE_READ(task, cgroups, dfl_cgrp, kn, id);
}

static __always_inline uint64_t group_of(struct task_struct *task, uint32_t group_by)
{
	switch (group_by) {
	case GROUP_PID:
		return task->tgid;
	case GROUP_TID:
		return task->pid;
	case GROUP_PIDNS:
		return namespace_of(task);
	default:
		return cgroup_of(task);
	}
}

/* A new group's histogram; NULL: there is no room for it, and that is counted. */
static __noinline struct hist *hist_make(void *hists, struct task_struct *task,
					 const struct hist_key *key, uint32_t group_by)
{
	static const struct hist none;
	struct hist *hist;

	bpf_map_update_elem(hists, key, &none, BPF_NOEXIST);
	hist = bpf_map_lookup_elem(hists, key);
	if (!hist)
		count_refused_hist();
	else if (group_by == GROUP_PID)
		BPF_CORE_READ_STR_INTO(&hist->comm, task, group_leader, comm);
	else
		BPF_CORE_READ_STR_INTO(&hist->comm, task, comm);
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

/* What happened before histograms were on may have been followed by what nobody looked at. */
static __always_inline bool is_seen(uint64_t time_ns)
{
	return time_ns > sched.hists_since_ns;
}

/* `next` waited that long for its CPU, runnable. */
static __always_inline void runq_ended(struct task_struct *next, uint64_t delay_ns, uint64_t now_ns)
{
	if (sched.hists & 1U << SCHED_RUNQLAT)
		hist_count(next, SCHED_RUNQLAT, delay_ns);
	if (sched.hists & 1U << SCHED_RUNQSLOWER && delay_ns > sched.slow_ns)
		slow_tell(next, delay_ns, now_ns);
}

/* `prev` had its CPU that long. */
static __always_inline void slice_ended(struct task_struct *prev, uint64_t ran_ns)
{
	if (sched.hists & 1U << SCHED_CPUDIST)
		hist_count(prev, SCHED_CPUDIST, ran_ns);
}

/* `next` was off its CPU that long, after it had left in `state`. */
static __always_inline void absence_ended(struct task_struct *next, uint64_t off_ns, uint32_t state)
{
	if (sched.hists & 1U << SCHED_OFFCPUDIST && (state == WAIT_SLEEP || state == WAIT_DISK))
		hist_count(next, SCHED_OFFCPUDIST, off_ns);
}
