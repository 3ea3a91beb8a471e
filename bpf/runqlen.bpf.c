// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Run-queue lengths: at each clock event of a CPU, idle or not, counts how many tasks wait for the
 * CPU.
 *
 * rq->nr_running has the tasks of all classes and groups; the count of the running task's own queue
 * has its group only. From Linux 6.12 on sleeping tasks may stay in a queue for a while (delayed
 * dequeue); the queue says how many.
 */
#include "bpf/core/kernel_types.h"
#include "bpf/shared/scheduler.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct lengths);
} lengths SEC(".maps");

/* Returns the sleeping tasks in the queue. The counts are read while they may change, so the
 * difference may seem to be negative. */
static __always_inline uint32_t count_sleepers(struct rq *rq)
{
	uint32_t all, runnable;

	if (bpf_core_field_exists(rq->cfs.h_nr_runnable)) { /* since 6.14 */
		runnable = BPF_CORE_READ(rq, cfs.h_nr_runnable);
		all = BPF_CORE_READ(rq, cfs.h_nr_queued);
		return all > runnable ? all - runnable : 0;
	}
	if (bpf_core_field_exists(rq->cfs.h_nr_delayed)) /* before that */
		return BPF_CORE_READ(rq, cfs.h_nr_delayed);
	return 0;
}

SEC("perf_event")
int sample_length(void *ctx)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	uint32_t zero = 0, waiting, not_waiting;
	struct lengths *mine = bpf_map_lookup_elem(&lengths, &zero);
	struct rq *rq;

	if (!mine || !bpf_core_field_exists(task->se.cfs_rq))
		return 0;
	rq = BPF_CORE_READ(task, se.cfs_rq, rq);
	waiting = BPF_CORE_READ(rq, nr_running);
	not_waiting = count_sleepers(rq) + (BPF_CORE_READ(task, pid) != 0);
	waiting = waiting > not_waiting ? waiting - not_waiting : 0;
	if (waiting >= LENGTH_SLOTS)
		waiting = LENGTH_SLOTS - 1;
	mine->slots[waiting]++;
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
