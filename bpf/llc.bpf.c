// SPDX-License-Identifier: GPL-2.0-or-later
/* The probe llc: misses of the last-level cache, and look-ups in it, by the CPU's counters. */
#include "bpf/stack/probe_take.h"

/* Takes the stack of an overflow of a counter, which stands for its period. */
static __always_inline void take_overflow(struct bpf_perf_event_data *ctx, bool is_miss)
{
	const struct target_value *target = probe_target(PROBE_LLC);
	struct taking taking = {.part = PART_ALL};
	struct stack_count more = {.samples = 1};
	struct count_key counted = {};
	uint64_t stands_for;

	if (!target)
		return;
	taking.events = guard_admits(PROBE_LLC);
	if (!taking.events || !probe_walk(ctx, PROBE_LLC, (const struct pt_regs *)&ctx->regs,
					  target, &taking, &counted.stack))
		return;
	stands_for = taking.events * ctx->sample_period;
	if (is_miss)
		more.weight = stands_for;
	else
		more.events = stands_for;
	counted.tid = bpf_get_current_pid_tgid();
	counted.cpu = taking.cpu;
	if (add_count(taking.window, &counted, &more))
		count_sample(PROBE_LLC);
}

SEC("perf_event")
int take_miss(struct bpf_perf_event_data *ctx)
{
	take_overflow(ctx, true);
	return 0;
}

SEC("perf_event")
int take_reference(struct bpf_perf_event_data *ctx)
{
	take_overflow(ctx, false);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
