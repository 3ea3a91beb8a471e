/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Times of threads that have ended, by process (thread_times.h). The end of a process goes through
 * three hooks:
 *
 *	sched_process_exit, its last thread   the entry in `gone` gets an id; no target any more
 *	sched_switch, each thread's last one  the thread's delays and waits are added
 *	sched_process_free, its main thread   the parent has waited for the process (getrusage)
 *
 * Between the first and the last hook threads still run, so no earlier sum is exact. The kernel
 * adds a thread's run time and switches to those of its process when the thread is released. All
 * threads but the main thread release themselves before their last switch, so no sum of the kernel
 * has that switch. The main thread is released by the process that waits for it, mostly after its
 * last switch.
 */
#pragma once

#include "bpf/core/shared_maps.h"
#include "bpf/shared/thread_times.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, GONE_MAX);
	__type(key, struct gone_key);
	__type(value, struct gone);
} gone SEC(".maps");

static __always_inline struct gone *gone_make(const struct gone_key *key)
{
	static const struct gone none;
	struct gone *found = bpf_map_lookup_elem(&gone, key);

	if (found)
		return found;
	bpf_map_update_elem(&gone, key, &none, BPF_NOEXIST);
	found = bpf_map_lookup_elem(&gone, key);
	if (!found)
		count_loss(LOST_GONE_FULL, LOSERS_ALL, 1);
	return found;
}

/* Notes that the last thread of a target begins to end. `task` may be any kind of pointer. */
static __always_inline void gone_begins(struct task_struct *task, const struct target_value *target)
{
	struct gone_key key = {};
	struct task_struct *leader;
	struct gone *found;

	if (!(target->probes & TIMES_WANTED))
		return;
	key.signal = (uint64_t)BPF_CORE_READ(task, signal);
	key.tgid = BPF_CORE_READ(task, tgid);
	found = gone_make(&key);
	if (!found)
		return;
	leader = BPF_CORE_READ(task, group_leader);
	found->start_ns = BPF_CORE_READ(leader, start_boottime);
	BPF_CORE_READ_STR_INTO(&found->comm, leader, comm);
	found->probes = target->probes;
	found->delays_known = bpf_core_field_exists(task->sched_info.run_delay);
	found->id = target->id;
}

static __always_inline void gone_add_waits(struct gone *found, const struct thread_record *record)
{
	if (record->session < found->session)
		return;
	if (record->session > found->session) {
		found->session = record->session;
		found->times.wakeups = 0;
		for (int i = 0; i < WAIT_KINDS; i++)
			found->times.waited_ns[i] = 0;
	}
	__sync_fetch_and_add(&found->times.wakeups, record->wakeups);
	for (int i = 0; i < WAIT_KINDS; i++)
		__sync_fetch_and_add(&found->times.waited_ns[i], record->waited_ns[i]);
}

/* Sets run time and switches of all threads of the process, in whichever order the last threads
 * end. */
static __always_inline void gone_sum_up(struct gone *found, struct task_struct *task)
{
	struct signal_struct *signal = task->signal;
	bool main_is_in = signal->nr_threads == 0; /* the main thread has been released */

	if (task->pid == task->tgid) {
		found->main_run_ns = task->se.sum_exec_runtime;
		found->main_switches[SWITCH_VOLUNTARY] = task->nvcsw;
		found->main_switches[SWITCH_INVOLUNTARY] = task->nivcsw;
	}
	found->times.run_ns = signal->sum_sched_runtime + (main_is_in ? 0 : found->main_run_ns);
	found->times.switches[SWITCH_VOLUNTARY] =
		signal->nvcsw + (main_is_in ? 0 : found->main_switches[SWITCH_VOLUNTARY]);
	found->times.switches[SWITCH_INVOLUNTARY] =
		signal->nivcsw + (main_is_in ? 0 : found->main_switches[SWITCH_INVOLUNTARY]);
}

/* Adds the times of the current thread, which leaves its CPU for the last time. `target`, `record`:
 * NULL if there is none. */
static __always_inline void gone_add(struct task_struct *task, const struct target_value *target,
				     const struct thread_record *record)
{
	struct gone_key key = {.signal = (uint64_t)task->signal, .tgid = task->tgid};
	bool is_wanted = target && target->probes & TIMES_WANTED;
	struct gone *found = is_wanted ? gone_make(&key) : bpf_map_lookup_elem(&gone, &key);

	if (!found)
		return;
	if (bpf_core_field_exists(task->sched_info.run_delay))
		__sync_fetch_and_add(&found->times.delay_ns, task->sched_info.run_delay);
	if (record)
		gone_add_waits(found, record);
	gone_sum_up(found, task);
}

/* Completes the sums of a process whose main thread nobody can wait for any more: all threads of
 * the process have been released. */
static __always_inline void gone_is_reaped(struct task_struct *task)
{
	struct gone_key key = {.signal = (uint64_t)task->signal, .tgid = task->tgid};
	struct signal_struct *signal = task->signal;
	struct gone *found = bpf_map_lookup_elem(&gone, &key);

	if (!found)
		return;
	found->times.run_ns = signal->sum_sched_runtime;
	found->times.switches[SWITCH_VOLUNTARY] = signal->nvcsw;
	found->times.switches[SWITCH_INVOLUNTARY] = signal->nivcsw;
	found->reaped_ns = bpf_ktime_get_ns();
}
