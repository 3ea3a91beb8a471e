/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Waits whose stacks are taken when they are over, because they will probably be too short to be
 * shown. Where the kernel has a tracepoint at the end of a switch (sched_exit_tp, Linux 6.13), the
 * thread that is back takes its own stack: its frames are those with which it left. By then the
 * wait's length is known, so a wait below minblock costs no walk, and none above it is missed.
 *
 *	on_switch, it leaves	the record gets the wait's weight; the stack comes later
 *	on_switch, it is back	minblock or longer? noted for this CPU
 *	on_sched_exit		walks, and counts the wait
 *
 * Nothing else runs on the CPU between the two but interrupts. A wait that goes on when a window
 * ends gets its stack from the iterator (bpf/waiting.bpf.c), without the scheduler's own frames:
 * the kernel leaves them out there. So only waits that will probably be short are treated so.
 */
#pragma once

#include "bpf/core/guard.h"
#include "bpf/core/record.h"
#include "bpf/stack/stack.h"
#include "bpf/sched/wait.h"

/* Set before loading: the kernel has the tracepoint. */
const volatile bool walks_at_return = false;

/* Cost of a wait that is timed and not walked: two look-ups of a record, two readings of the
 * clock. */
#define TIMED_NS      150ULL
#define TIMED_AT_ONCE 64 /* such waits that are booked together */

/* The thread that is back on this CPU, and its wait. */
struct returned {
	uint32_t tid; /* 0: none is noted */
	uint32_t weight;
	uint64_t left_ns, woken_ns, came_ns;
	uint64_t timed; /* waits below minblock */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct returned);
} returns SEC(".maps");

static __always_inline struct returned *returned_get(void)
{
	uint32_t zero = 0;

	return bpf_map_lookup_elem(&returns, &zero);
}

/* Books a wait that was too short. */
static __always_inline void returned_short(struct returned *mine)
{
	if (!(++mine->timed % TIMED_AT_ONCE))
		guard_spend(PROBE_OFFCPU, TIMED_NS * TIMED_AT_ONCE);
}

/* Notes the wait of `task`, which is back on this CPU and has no stack. */
static __always_inline void returned_note(const struct task_struct *task,
					  const struct thread_record *record, uint64_t came_ns)
{
	struct returned *mine = returned_get();
	uint64_t whole_ns = came_ns - record->left_ns;

	if (!mine)
		return;
	if (whole_ns < sched.minblock_ns) {
		returned_short(mine);
		return;
	}
	if (mine->tid) /* its on_sched_exit never came */
		count_loss(LOST_UNENDED, PROBE_OFFCPU, mine->weight);
	mine->tid = task->pid;
	mine->weight = record->weight;
	mine->left_ns = record->left_ns;
	mine->woken_ns = record->queued_ns;
	mine->came_ns = came_ns;
}

/* Counts the noted wait with the stack in `walk`, which was taken. */
static __always_inline void returned_count(struct task_struct *task, const struct walk *walk,
					   const struct returned *mine, uint32_t cpu)
{
	struct thread_record *record = record_find(task);
	struct part part = {
		.from_ns = mine->left_ns, .until_ns = mine->came_ns, .events = mine->weight};

	if (!record) {
		count_loss(LOST_RECORDS_FULL, PROBE_OFFCPU, mine->weight);
		return;
	}
	record->key = walk->head.key;
	record->cpu = cpu;
	record->weight = mine->weight;
	record->queued_ns = mine->woken_ns;
	count_parts(record, task->pid, walk->head.window, &part);
	record->weight = 0;
	record->queued_ns = 0;
	count_sample(PROBE_OFFCPU);
}

/* Takes the stack of the current thread, whose wait is noted, and counts the wait. */
static __noinline void returned_take(void *ctx, struct task_struct *task, struct returned *mine)
{
	uint32_t zero = 0, tgid = task->tgid;
	const struct target_value *target = bpf_map_lookup_elem(&targets, &tgid);
	const struct control *settings = bpf_map_lookup_elem(&control, &zero);
	struct taking taking = {.events = mine->weight, .cpu = CPU_ANY};
	uint64_t began_ns = bpf_ktime_get_ns();
	struct walk *walk;

	if (!target_wants(target, PROBE_OFFCPU) || !settings)
		return; /* it was one when it left */
	if (mine->came_ns - mine->left_ns > sched.maxblock_ns) {
		count_over_maxblock(mine->weight);
		return;
	}
	walk = walk_for(PROBE_OFFCPU, mine->weight);
	if (!walk)
		return;
	walk->frames_max = sched.wait_depth;
	walk_begin_current(walk, settings, target, PROBE_OFFCPU);
	if (take_into(ctx, walk, NULL, &taking))
		returned_count(task, walk, mine, counted_cpu(settings, PROBE_OFFCPU));
	walk_give_back(walk);
	guard_account(PROBE_OFFCPU, mine->weight, began_ns);
}
