// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Iterator at a window's end: counts the waits that go on until then, and hands them to the window
 * that begins (bpf/sched/wait.h). Counts also the waits that have no stack.
 */
#include "bpf/core/task.h"
#include "bpf/sched/wait.h"

/* Looks until a switch back has counted, which normally takes a microsecond. A look takes the time
 * of a helper's call, 20 ns or more: the verifier walks each look, so they are few. */
#define END_LOOKS 100

struct sched_settings sched;

uint64_t unseen_waits; /* number of threads that wait and have no stack */

/* Returns whether the part until the window's end is to be counted here; `from_ns` is the begin of
 * the part. */
static __always_inline bool is_ours(struct thread_record *record, uint64_t from_ns)
{
	volatile struct thread_record *now = record;
	uint64_t ends = now->ends;

	if (now->ended != ends || !now->left_ns)
		return false;
	now->shown_ns = sched.cut_ns;
	__sync_fetch_and_add(&record->looks, 1); /* a barrier */
	if (now->ends == ends)
		return true;
	for (int i = 0; i < END_LOOKS; i++) {
		if (now->ended == now->ends)
			return now->counted_from_ns != from_ns;
		bpf_ktime_get_ns();
	}
	return false;
}

static __always_inline void show_wait(struct task_struct *task, struct thread_record *record)
{
	struct part part = {.until_ns = sched.cut_ns, .waiting = 1};
	uint64_t whole_ns = sched.cut_ns - record->left_ns;
	uint64_t ended = record->window;

	part.from_ns = shown_until(record);
	if (whole_ns < sched.minblock_ns || whole_ns > sched.maxblock_ns ||
	    sched.maxblock_ns < SHOWN_EARLY_NS || task->on_cpu) { /* the thread came unseen */
		part.until_ns =
			part.from_ns; /* nothing to count yet, or any more: the wait only goes on */
	} else {
		if (!record->shown_ns) {
			if (sched.all_seen)
				record->weight = 1;
			part.events = record->weight;
		}
		if (!is_ours(record, part.from_ns))
			return;
	}
	if (part.events)
		count_sample(PROBE_OFFCPU);
	count_part(record, task->pid, ended, PART_ALL, &part);
	record->window = sched.closing;
}

SEC("iter/task")
int flush_waits(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct thread_record *record;

	if (!task)
		return 0;
	record = record_find(task);
	if (!record || record->session != sched.session || !record->left_ns ||
	    record->switches != task_switches(task) || !has_stack(record)) {
		unseen_waits += waiting_target(task, &sched, PROBE_OFFCPU) != NULL;
		return 0;
	}
	if (!sched.closing || record->left_ns >= sched.cut_ns)
		return 0;
	if (record->window + 1 == sched.closing) {
		show_wait(task, record);
	} else if (record->window + 1 < sched.closing) { /* no window has the stack any more */
		record->weight = 0;
		mark_open(task->pid, -1);
		unseen_waits++;
	}
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
