/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Off-CPU time: the stack is taken when the thread leaves its CPU, and counted when the thread is
 * back (bpf/sched/wait.h). If the thread's last waits were below minblock, its stack is taken when
 * the thread is back, where the kernel lets us (bpf/sched/returned.h).
 *
 * Above the budget, stacks are taken of some waits only. Nobody knows yet how long a wait will be,
 * but the length of the thread's last waits is known. The longer these were, the more likely the
 * wait is taken, and the less it stands for. So long waits aren't missed, and totals stay true in
 * any case.
 */
#pragma once

#define WALKS_AT_SWITCHES
#define GUARD_SKIPPED_NS 50ULL /* two switches */
#include "bpf/sched/walk_cost.h"
#include "bpf/core/guard.h"
#include "bpf/stack/stack.h"
#include "bpf/core/task.h"
#include "bpf/sched/returned.h"
#include "bpf/sched/wait.h"

#define USUAL_MAX_US (1U << 30)

/* Returns how many waits this wait stands for, if its stack is to be taken; 0: no stack is taken,
 * but the wait is timed if `timed` (walk_cost.h). */
static __always_inline uint32_t wait_draw(const struct task_struct *task, bool *timed)
{
	const struct marks *all = marks_get();

	if (!all)
		return 0;
	return guard_draws(PROBE_OFFCPU, all->usual_us[task->pid & (MARKS - 1)], timed);
}

static __always_inline void learn_usual(const struct task_struct *task, uint64_t waited_ns)
{
	struct marks *all = marks_get();
	uint64_t us = waited_ns / 1000;
	uint32_t *usual;

	if (!all)
		return;
	usual = &all->usual_us[task->pid & (MARKS - 1)];
	us = (*usual + (us > USUAL_MAX_US ? USUAL_MAX_US : us)) / 2;
	*usual = us ? us : 1;
}

/* Returns whether the wait of `task` will probably be shorter than minblock, and its stack may come
 * when it is over. */
static __always_inline bool wait_is_usually_short(const struct task_struct *task)
{
	const struct marks *all = marks_get();
	uint64_t usual_us = walks_at_return && all ? all->usual_us[task->pid & (MARKS - 1)] : 0;

	return usual_us && usual_us * 1000 < sched.minblock_ns;
}

/* Begins the wait of a thread that was drawn; its stack comes later. */
static __always_inline void wait_begins_timed(const struct task_struct *prev,
					      struct target_value *target,
					      struct thread_record *record, uint32_t weight)
{
	notice_wait(target, prev, record->left_ns);
	record->stack = WAIT_STACK_LATER;
	record->pending = 0;
	record->weight = weight;
	mark_open(prev->pid, 1);
}

/* Takes the stack of the current thread, which leaves its CPU in a state that is looked for, and
 * was drawn. */
static __noinline void wait_begins(void *ctx, const struct target_value *target,
				   struct thread_record *record, uint32_t weight)
{
	uint32_t zero = 0;
	const struct control *settings = bpf_map_lookup_elem(&control, &zero);
	struct target_value wanted = *target;
	struct taking taking = {.events = weight, .cpu = CPU_ANY};
	struct walk *walk = settings ? walk_for(PROBE_OFFCPU, weight) : NULL;
	uint64_t now_ns;

	record->stack = WAIT_STACK_LOST;
	if (!walk)
		return;
	walk->frames_max = sched.wait_depth;
	walk_begin_current(walk, settings, &wanted, PROBE_OFFCPU);
	if (take_into(ctx, walk, NULL, &taking)) {
		record->key = walk->head.key;
		record->window = walk->head.window;
		record->cpu = counted_cpu(settings, PROBE_OFFCPU);
		record->stack = WAIT_STACK_TAKEN;
		record->pending = pending_of(walk->head.truncated, wanted.spans_number);
		record->python = walk->python_at;
		record->hotspot = walk->hotspot_at;
		record->weight = weight;
		mark_open(walk->tid, 1);
	}
	walk_give_back(walk);
	now_ns = guard_account(PROBE_OFFCPU, weight, record->left_ns);
	/* The other waits that this wait stands for had no walk. */
	if (weight > 1 && now_ns)
		record->left_ns = now_ns;
}

static __noinline void count_wait(struct task_struct *next, struct thread_record *record,
				  uint64_t now_ns)
{
	uint64_t whole_ns = now_ns - record->left_ns;
	struct part part = {.from_ns = shown_until(record), .until_ns = now_ns};
	uint32_t zero = 0;
	struct counters *mine = bpf_map_lookup_elem(&counters, &zero);
	const struct control *settings = bpf_map_lookup_elem(&control, &zero);

	if (!mine || !settings || whole_ns < sched.minblock_ns)
		return;
	if (whole_ns > sched.maxblock_ns) {
		count_over_maxblock(record->weight);
		return;
	}
	/* The window's end, to which it is counted, may be later than the clock was read here. */
	if (part.until_ns < part.from_ns)
		part.until_ns = part.from_ns;
	if (!record->shown_ns) {
		part.events = record->weight;
		mine->samples[PROBE_OFFCPU]++;
	}
	count_parts(record, next->pid, window_of(record, settings->window), &part);
}

/* Ends the wait of `next`, which was drawn, and counts the wait; or notes it, if its stack is to
 * be taken now. */
static __always_inline void wait_ends(struct task_struct *next, struct thread_record *record,
				      uint64_t now_ns)
{
	mark_open(next->pid, -1);
	if (record->left_ns && record->switches == task_switches(next) &&
	    is_forward(record->left_ns, now_ns)) {
		learn_usual(next, now_ns - record->left_ns);
		if (lacks_stack(record)) {
			returned_note(next, record, now_ns);
		} else if (has_stack(record)) {
			if (record->weight > 1 && !record->shown_ns)
				record->left_ns += after_walked(now_ns - record->left_ns);
			__sync_fetch_and_add(&record->ends, 1);
			count_wait(next, record, now_ns);
			record->counted_from_ns = shown_until(record);
			__sync_fetch_and_add(&record->ended, 1);
		}
	}
	record->weight = 0;
}
