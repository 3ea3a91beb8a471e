// SPDX-License-Identifier: GPL-2.0-or-later
/* A probe whose events are system calls with a number, which a program makes as it likes: events at
 * once, and events that begin at one call and end at another. */
#include "bpf/stack/probe_halves.h"

const volatile struct {
	long take, begin, begin_kernel, end, end_timed;
} calls;

#define WEIGHT 7

SEC("raw_tp/sys_enter")
int on_event(struct bpf_raw_tracepoint_args *ctx)
{
	struct pt_regs *regs = (void *)ctx->args[0];
	long call = ctx->args[1];
	uint64_t number = 0;

	if (bpf_probe_read_kernel(&number, sizeof(number), &PT_REGS_PARM1(regs)))
		return 0;
	if (call == calls.take)
		probe_take_user(ctx, PROBE_ONCPU, WEIGHT);
	else if (call == calls.begin)
		probe_begin_user(ctx, PROBE_ONCPU, number);
	else if (call == calls.begin_kernel)
		probe_begin(ctx, PROBE_ONCPU, NULL, number);
	else if (call == calls.end)
		probe_end(PROBE_ONCPU, number, WEIGHT);
	else if (call == calls.end_timed)
		probe_end_timed(PROBE_ONCPU, number);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
