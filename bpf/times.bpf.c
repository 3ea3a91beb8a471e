// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Iterator over threads: the CPU times of the processes that are wanted. The kernel counts most of
 * it itself, for each thread; so all threads are walked when somebody asks, and nothing is added at
 * a switch.
 *
 * Run time is the kernel's: of a running thread it is as of the last tick of its CPU.
 */
#include "bpf/process/exited.h"
#include "bpf/core/task.h"

#define EXIT_DEAD 0x10 /* include/linux/sched.h */

struct sched_settings sched;

/* The first member of the kernel's struct (include/linux/bpf.h). */
struct bpf_iter_meta {
	struct seq_file *seq;
};

/* Reads the times of the threads that have ended. */
static __always_inline void read_ended(struct task_struct *task, const struct gone *found,
				       struct times *times)
{
	struct signal_struct *signal = task->signal;

	times->run_ns = signal->sum_sched_runtime;
	times->switches[SWITCH_VOLUNTARY] = signal->nvcsw;
	times->switches[SWITCH_INVOLUNTARY] = signal->nivcsw;
	if (!found)
		return;
	times->delay_ns = found->times.delay_ns;
	if (found->session != sched.session)
		return;
	times->wakeups = found->times.wakeups;
	for (int i = 0; i < WAIT_KINDS; i++)
		times->waited_ns[i] = found->times.waited_ns[i];
}

/* Reads the waits of a thread, with the wait that goes on. The sums are read before that wait: at
 * the end of a wait the record first says that there is none, and then adds to the sum, so nothing
 * is counted twice. */
static __always_inline void read_waits(struct task_struct *task, uint32_t probes,
				       struct times *times)
{
	bool of_hists = sched.hists && (sched.everybody || probes & WANTED_SCHED);
	struct thread_record *record = record_find(task);
	uint64_t now_ns, left_ns;
	uint32_t state;

	if (!record || record->session != sched.session)
		return;
	times->wakeups = record->wakeups;
	for (int i = 0; i < WAIT_KINDS; i++)
		times->waited_ns[i] = *(volatile uint64_t *)&record->waited_ns[i];
	left_ns = *(volatile uint64_t *)&record->left_ns;
	state = record->state;
	now_ns = bpf_ktime_get_ns();
	/* A wait that isn't drawn is not noted: then the record has an earlier wait. */
	if (!left_ns || left_ns >= now_ns || task->on_cpu ||
	    record->switches != task_switches(task))
		return;
	for (uint32_t i = 0; i < WAIT_KINDS;
	     i++) { /* Linux 6.1 forgets the bounds of spilled values */
		if (i == state)
			times->waited_ns[i] += (now_ns - left_ns) * (of_hists ? 1 : record->weight);
	}
}

/*
 * Reads the times of this thread. Nothing of them may be in `ended` already. So either the thread
 * is released (which sets EXIT_DEAD first) and leaves its CPU for the last time (which sets
 * TASK_DEAD first) after `ended` was read, or it is seen here.
 */
static __always_inline void read_own(struct task_struct *task, uint32_t probes, struct times *times)
{
	times->run_ns = task->se.sum_exec_runtime;
	times->switches[SWITCH_VOLUNTARY] = task->nvcsw;
	times->switches[SWITCH_INVOLUNTARY] = task->nivcsw;
	if (bpf_core_field_exists(task->sched_info.run_delay))
		times->delay_ns = task->sched_info.run_delay;
	read_waits(task, probes, times);
	if (task_state(task) & TASK_DEAD) {
		times->delay_ns = 0;
		times->wakeups = 0;
		for (int i = 0; i < WAIT_KINDS; i++)
			times->waited_ns[i] = 0;
	}
	if (*(volatile int *)&task->exit_state == EXIT_DEAD) {
		times->run_ns = 0;
		times->switches[SWITCH_VOLUNTARY] = 0;
		times->switches[SWITCH_INVOLUNTARY] = 0;
	}
}

SEC("iter/task")
int read_times(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct seq_file *seq = ((struct bpf_iter_meta *)ctx->meta)->seq;
	struct thread_times thread = {};
	struct gone_key key = {};
	struct target_value *target;
	struct gone *found;

	if (!task)
		return 0;
	thread.tgid = task->tgid;
	target = bpf_map_lookup_elem(&targets, &thread.tgid);
	key.signal = (uint64_t)task->signal;
	key.tgid = thread.tgid;
	found = bpf_map_lookup_elem(&gone, &key);
	if (found && found->id) {
		thread.id = found->id;
		thread.probes = found->probes;
	} else if (target && target->probes & TIMES_WANTED) {
		thread.id = target->id;
		thread.probes = target->probes;
	} else {
		return 0;
	}
	thread.tid = task->pid;
	thread.start_ns = task->group_leader->start_boottime;
	bpf_probe_read_kernel_str(thread.comm, sizeof(thread.comm), task->group_leader->comm);
	thread.delays_known = bpf_core_field_exists(task->sched_info.run_delay);
	read_ended(task, found, &thread.ended);
	read_own(task, thread.probes, &thread.own);
	bpf_seq_write(seq, &thread, sizeof(thread));
	return 0;
}

SEC("tp_btf/sched_process_free")
int on_free(uint64_t *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx[0];

	/* The old main thread of a program whose other thread called execve is skipped. */
	if (task->pid == task->tgid && task->group_leader == task)
		gone_is_reaped(task);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
