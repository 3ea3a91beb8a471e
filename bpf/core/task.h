/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What iterators over tasks share: their context, and the state of a task. */
#pragma once

#include "bpf/core/record.h"

#define TASK_INTERRUPTIBLE   1 /* include/linux/sched.h */
#define TASK_UNINTERRUPTIBLE 2
#define TASK_DEAD	     0x80
#define TASK_WAKING	     0x200

/* include/linux/bpf.h, DEFINE_BPF_ITER_FUNC(task, …) */
struct bpf_iter__task {
	void *meta;
	struct task_struct *task;
};

/* Returns the enum wait_state of a task's state, or of the state in which it left its CPU. */
static __always_inline uint32_t wait_state_of(uint64_t state)
{
	if (!state)
		return WAIT_RUNNABLE;
	if (state & TASK_DEAD)
		return WAIT_DEAD;
	if (state & TASK_INTERRUPTIBLE)
		return WAIT_SLEEP;
	return state & TASK_UNINTERRUPTIBLE ? WAIT_DISK : WAIT_OTHER;
}

static __always_inline uint64_t task_state(const struct task_struct *task)
{
	if (bpf_core_field_exists(task->__state))
		return task->__state;
	return ((const struct task_struct___before *)task)->state;
}

static __always_inline uint64_t task_switches(const struct task_struct *task)
{
	return task->nvcsw + task->nivcsw;
}

/* Returns the target of a thread that a probe of waits is interested in: the thread is off its CPU,
 * in a state that is looked for, and its process is a target of the probe. Else returns NULL. */
static __always_inline struct target_value *
waiting_target(struct task_struct *task, const struct sched_settings *settings, uint32_t probe)
{
	uint32_t tgid = task->tgid;
	struct target_value *target;

	if (task->on_cpu || task->flags & PF_KTHREAD ||
	    !(settings->wait_states & 1U << wait_state_of(task_state(task))))
		return NULL;
	target = bpf_map_lookup_elem(&targets, &tgid);
	return target_wants(target, probe) ? target : NULL;
}
