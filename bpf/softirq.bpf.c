// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Softirqs of the whole host: how many of each vector, and their time, by the process that each
 * interrupted, and by CPU.
 *
 *	softirq_entry -> the time is kept, for this CPU
 *	softirq_exit  -> number and time are added to the CPU's and to the process's counts
 */
#include "bpf/core/task.h"
#include "bpf/shared/process_cost.h"

#define COST_COUNTER struct softirq_counts
#include "bpf/process/cost_counter.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct softirq_counts);
} softirq_cpus SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, uint64_t);
} softirq_began SEC(".maps");

SEC("raw_tp/softirq_entry")
int on_softirq_entry(struct bpf_raw_tracepoint_args *ctx)
{
	uint32_t zero = 0;
	uint64_t *began = bpf_map_lookup_elem(&softirq_began, &zero);

	if (began)
		*began = bpf_ktime_get_ns();
	return 0;
}

SEC("raw_tp/softirq_exit")
int on_softirq_exit(struct bpf_raw_tracepoint_args *ctx)
{
	uint32_t zero = 0;
	uint64_t *began = bpf_map_lookup_elem(&softirq_began, &zero);
	struct softirq_counts *cpu = bpf_map_lookup_elem(&softirq_cpus, &zero), *counts;
	uint64_t vector = ctx->args[0], ns;

	/* One that had begun before the programs were attached isn't counted. */
	if (!began || !cpu || !*began || vector >= SOFTIRQS)
		return 0;
	ns = bpf_ktime_get_ns() - *began;
	*began = 0;
	cpu->count[vector]++;
	cpu->ns[vector] += ns;
	counts = counters_of_current();
	if (counts) {
		__sync_fetch_and_add(&counts->count[vector], 1);
		__sync_fetch_and_add(&counts->ns[vector], ns);
	}
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
