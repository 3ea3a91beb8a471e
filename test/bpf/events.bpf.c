// SPDX-License-Identifier: GPL-2.0-or-later
/* A probe as cheap as one can be, for the guard's test: each getppid() of one process. */
#include "bpf/core/guard.h"
#include "bpf/stack/stack.h"

const volatile uint32_t wanted_tgid;
const volatile long wanted_syscall;

SEC("raw_tp/sys_enter")
int on_event(struct bpf_raw_tracepoint_args *ctx)
{
	struct target_value target = {.id = 1};
	struct taking taking = {.part = PART_ALL};
	struct stack_key key;
	struct pt_regs regs;
	uint64_t began_ns;
	uint32_t weight;

	if ((long)ctx->args[1] != wanted_syscall)
		return 0;
	weight = guard_admits(PROBE_ONCPU);
	if (!weight || bpf_get_current_pid_tgid() >> 32 != wanted_tgid)
		return 0;
	began_ns = bpf_ktime_get_ns();
	if (bpf_probe_read_kernel(&regs, sizeof(regs), (void *)ctx->args[0]))
		return 0;
	taking.weight = taking.events = weight;
	take_stack_as(ctx, &regs, &target, PROBE_ONCPU, &taking, &key);
	guard_account(PROBE_ONCPU, weight, began_ns);
	return 0;
}

/* The same hook and filter, and nothing else: what the kernel charges for a look. */
SEC("raw_tp/sys_enter")
int on_event_empty(struct bpf_raw_tracepoint_args *ctx)
{
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
