// SPDX-License-Identifier: GPL-2.0-or-later
/* On-CPU samples: each CPU's clock event, idle excluded. */
#include "bpf/core/guard.h"
#include "bpf/stack/stack.h"

SEC("perf_event")
int sample(struct bpf_perf_event_data *ctx)
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
	take_stack(ctx, (const struct pt_regs *)&ctx->regs, &wanted, PROBE_ONCPU, weight);
	guard_account(PROBE_ONCPU, weight, began_ns);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
