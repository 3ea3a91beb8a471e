// SPDX-License-Identifier: GPL-2.0-or-later
/* On-CPU samples: each CPU's clock event, idle excluded. */
#define WALKS_NEWCOMERS

#include "bpf/stack/hand_over.h"
#include "bpf/stack/probe_take.h"

HAND_OVER_SLOT(sample_slot);

SEC("perf_event")
int sample(struct bpf_perf_event_data *ctx)
{
	hand_over(ctx, &sample_slot);
	probe_take(ctx, PROBE_ONCPU, (const struct pt_regs *)&ctx->regs, 1);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
