// SPDX-License-Identifier: GPL-2.0-only
/*
 * On-CPU samples: each CPU's clock event, idle excluded. Two programs from one source; the daemon
 * loads the one that the kernel can bear: `modern` needs bpf_loop (5.17) and bpf_task_pt_regs
 * (5.15).
 */
#include "guard.h"
#include "stack.h"

static __always_inline int sample(struct bpf_perf_event_data *ctx, bool modern)
{
	uint32_t tgid = bpf_get_current_pid_tgid() >> 32;
	struct target_value *target = bpf_map_lookup_elem(&targets, &tgid);
	struct target_value wanted;
	uint64_t began_ns;
	uint32_t weight;

	if (!target || !(target->probes & 1 << PROBE_ONCPU))
		return 0;
	weight = guard_admits(PROBE_ONCPU);
	if (!weight)
		return 0;
	began_ns = bpf_ktime_get_ns();
	wanted = *target;
	take_stack(ctx, (const struct pt_regs *)&ctx->regs, &wanted, PROBE_ONCPU, weight, modern);
	guard_account(PROBE_ONCPU, weight, began_ns);
	return 0;
}

SEC("perf_event")
int sample_modern(struct bpf_perf_event_data *ctx)
{
	return sample(ctx, true);
}

SEC("perf_event")
int sample_bounded(struct bpf_perf_event_data *ctx)
{
	return sample(ctx, false);
}

char LICENSE[] SEC("license") = "GPL";
