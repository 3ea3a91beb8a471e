// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Who wakes whom, on the whole host: how often each process was woken and woke, and each pair of
 * processes. A thread that an interrupt wakes is woken by the process that was interrupted, of the
 * idle task by pid 0.
 */
#include "bpf/core/task.h"
#include "bpf/shared/process_cost.h"

#define COST_COUNTER struct wake_counts
#include "bpf/process/cost_counter.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, WAKE_PAIRS_MAX);
	__type(key, struct wake_pair);
	__type(value, uint64_t);
} wake_pairs SEC(".maps");

static __always_inline void count_pair(const struct wake_pair *pair)
{
	const uint64_t none = 0;
	uint64_t *count = bpf_map_lookup_elem(&wake_pairs, pair);

	if (!count) {
		bpf_map_update_elem(&wake_pairs, pair, &none, BPF_NOEXIST);
		count = bpf_map_lookup_elem(&wake_pairs, pair);
	}
	if (count)
		__sync_fetch_and_add(count, 1);
	else
		__sync_fetch_and_add(&lost_events, 1);
}

SEC("raw_tp/sched_waking")
int on_waking(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *woken = (void *)ctx->args[0];
	struct task_struct *waker = (void *)bpf_get_current_task();
	const struct wake_pair pair = {BPF_CORE_READ(waker, tgid), BPF_CORE_READ(woken, tgid)};
	struct wake_counts *counts = counters_of(woken);

	if (counts)
		__sync_fetch_and_add(&counts->of[WAKE_WOKEN], 1);
	counts = counters_of(waker);
	if (counts)
		__sync_fetch_and_add(&counts->of[WAKE_WAKES], 1);
	count_pair(&pair);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
