// SPDX-License-Identifier: GPL-2.0-or-later
/* Programs that do nothing on the scheduler's hooks, around page faults and at the return of system
 * calls: what the kernel charges for a look. */
#include "bpf/core/kernel_types.h"

SEC("tp_btf/sched_switch")
int empty_switch(uint64_t *ctx)
{
	return 0;
}

SEC("tp_btf/sched_wakeup")
int empty_wakeup(uint64_t *ctx)
{
	return 0;
}

SEC("tp_btf/sched_wakeup_new")
int empty_wakeup_new(uint64_t *ctx)
{
	return 0;
}

SEC("tp_btf/page_fault_user")
int empty_before_user(uint64_t *ctx)
{
	return 0;
}

SEC("tp_btf/page_fault_kernel")
int empty_before_kernel(uint64_t *ctx)
{
	return 0;
}

SEC("tp_btf/sys_exit")
int empty_exit(uint64_t *ctx)
{
	return 0;
}

SEC("perf_event")
int empty_after(struct bpf_perf_event_data *ctx)
{
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
