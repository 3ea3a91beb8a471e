// SPDX-License-Identifier: GPL-2.0-or-later
/* Stacks of one process from hooks of every kind at once, so that walks interrupt walks. */
#include "bpf/stack/stack.h"

const volatile uint32_t wanted_tgid;

/* By hook; `nested`: of the timer's, those that found a walk under way. */
uint64_t enters, switches, calls, ticks, nested;

static __always_inline bool take(void *ctx, const struct pt_regs *regs, uint64_t *taken)
{
	uint32_t tgid = bpf_get_current_pid_tgid() >> 32;
	struct target_value *target = bpf_map_lookup_elem(&targets, &tgid), wanted;
	struct taking taking = {.weight = 1, .events = 1, .part = PART_ALL};
	struct stack_key key;

	if (tgid != wanted_tgid || !target)
		return false;
	wanted = *target;
	__sync_fetch_and_add(taken, 1);
	take_stack_as(ctx, regs, &wanted, PROBE_ONCPU, &taking, &key);
	return true;
}

SEC("raw_tp/sys_enter")
int on_enter(struct bpf_raw_tracepoint_args *ctx)
{
	struct pt_regs regs;

	if (bpf_get_current_pid_tgid() >> 32 != wanted_tgid ||
	    bpf_probe_read_kernel(&regs, sizeof(regs), (void *)ctx->args[0]))
		return 0;
	take(ctx, &regs, &enters);
	return 0;
}

/* The current task is the one that is left, in the kernel. */
SEC("raw_tp/sched_switch")
int on_switch(struct bpf_raw_tracepoint_args *ctx)
{
	struct pt_regs regs = {};

	take(ctx, &regs, &switches);
	return 0;
}

SEC("uprobe")
int on_call(struct pt_regs *ctx)
{
	struct pt_regs regs = *ctx;

	take(ctx, &regs, &calls);
	return 0;
}

SEC("perf_event")
int on_tick(struct bpf_perf_event_data *ctx)
{
	uint32_t zero = 0;
	const struct walk *first = bpf_map_lookup_elem(&walks, &zero);
	bool busy = first && first->busy;

	if (take(ctx, (const struct pt_regs *)&ctx->regs, &ticks) && busy)
		__sync_fetch_and_add(&nested, 1);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
