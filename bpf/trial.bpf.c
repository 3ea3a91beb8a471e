// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Trial programs that do next to nothing, one for each feature that a kernel may lack or refuse.
 * The daemon loads one of them, attaches it and checks whether it was hit
 * (capability/trial_program.c). A program that can do without BTF needs none here.
 */
#include "bpf/core/kernel_types.h"

uint64_t hits; /* runs of a program in which its attempt worked */

static __always_inline int count_hit(void)
{
	__sync_fetch_and_add(&hits, 1);
	return 0;
}

/* ---- hooks ---- */

SEC("perf_event")
int on_event(struct bpf_perf_event_data *ctx)
{
	return count_hit();
}

SEC("raw_tp")
int on_raw_tracepoint(struct bpf_raw_tracepoint_args *ctx)
{
	return count_hit();
}

SEC("tp_btf/sched_switch")
int on_typed_tracepoint(void *ctx)
{
	return count_hit();
}

SEC("tp_btf/page_fault_user")
int on_fault(void *ctx)
{
	return count_hit();
}

SEC("tracepoint")
int on_tracepoint(void *ctx)
{
	return count_hit();
}

SEC("kprobe")
int on_probe(struct pt_regs *ctx)
{
	return count_hit();
}

SEC("fentry/hrtimer_nanosleep")
int on_entry(void *ctx)
{
	return count_hit();
}

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

SEC("iter/task")
int on_task(struct bpf_iter__task *ctx)
{
	return count_hit();
}

const volatile uint64_t task_word; /* address of a word of the daemon, which the iterator reads */

SEC("iter.s/task")
int on_task_sleepable(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	uint64_t word;

	if (task && task == bpf_get_current_task_btf() &&
	    bpf_copy_from_user_task(&word, sizeof(word), (void *)task_word, task, 0) == 0)
		count_hit();
	return 0;
}

/* ---- helpers and maps ---- */

SEC("perf_event")
int uses_task_regs(struct bpf_perf_event_data *ctx)
{
	return bpf_task_pt_regs(bpf_get_current_task_btf()) ? count_hit() : 0;
}

SEC("perf_event")
int reads_kernel_memory(struct bpf_perf_event_data *ctx)
{
	uint64_t word;

	return bpf_probe_read_kernel(&word, sizeof(word), (void *)bpf_get_current_task())
		       ? 0
		       : count_hit();
}

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} ring SEC(".maps");

SEC("perf_event")
int uses_ring(struct bpf_perf_event_data *ctx)
{
	uint64_t word = 1;

	return bpf_ringbuf_output(&ring, &word, sizeof(word), 0) ? 0 : count_hit();
}

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, uint64_t);
} storage SEC(".maps");

SEC("tp_btf/sched_switch")
int uses_storage(void *ctx)
{
	return bpf_task_storage_get(&storage, bpf_get_current_task_btf(), NULL,
				    BPF_LOCAL_STORAGE_GET_F_CREATE)
		       ? count_hit()
		       : 0;
}

char LICENSE[] SEC("license") = "GPL";
