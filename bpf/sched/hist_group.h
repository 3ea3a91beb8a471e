/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The group of a task in histograms of the feature /sched (enum group_by). */
#pragma once

#include "bpf/core/shared_maps.h"
#include "bpf/shared/scheduler.h"

extern struct sched_settings sched;

static __always_inline void count_refused_hist(void)
{
	uint32_t zero = 0;
	struct counters *mine = bpf_map_lookup_elem(&counters, &zero);

	if (mine)
		mine->hists_refused++;
}

/* Returns the inode number of the task's pid namespace; 0: the task is ending and in no namespace
 * any more. `pid` came from a probe read, so the verifier knows nothing of it and allows the
 * arithmetic on the address. */
static __always_inline uint64_t namespace_of(struct task_struct *task)
{
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	uint64_t number = (uint64_t)pid + bpf_core_field_offset(pid->numbers);

	if (!pid)
		return 0;
	number += BPF_CORE_READ(pid, level) * (uint64_t)bpf_core_type_size(struct upid);
	return BPF_CORE_READ((struct upid *)number, ns, ns.inum);
}

/* Returns the id of the task's cgroup in the unified hierarchy (v2); 0: the kernel has no
 * cgroups. */
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
	case GROUP_CGROUP:
		return cgroup_of(task);
	case GROUP_CPU:
		return bpf_get_smp_processor_id();
	default:
		return 0;
	}
}

/* Writes the name by which people know the group of `task`. */
static __always_inline void group_name(char *comm, struct task_struct *task, uint32_t group_by)
{
	if (group_by == GROUP_PID)
		BPF_CORE_READ_STR_INTO((char(*)[COMM_BYTES])comm, task, group_leader, comm);
	else
		BPF_CORE_READ_STR_INTO((char(*)[COMM_BYTES])comm, task, comm);
}
