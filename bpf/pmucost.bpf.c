// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Cycles, instructions and cache misses, by process, of the whole host: the CPU's counters run all
 * the time; at each switch what they have counted since the one before is the process's that
 * leaves.
 *
 *	sched_switch  -> the counts since the last switch are added to the process that leaves
 *	count_running -> the same for the process that runs; the daemon has it run on each CPU
 *			 before it reads
 *
 * Where the CPU has fewer counters than perf's users want, a counter runs part of the time. Then
 * what it counted is scaled by the time that it was wanted over the time that it ran. Time in which
 * it didn't run at all is kept, and scaled with the process's next counts.
 */
#include "bpf/core/task.h"
#include "bpf/shared/process_cost.h"

#define COST_COUNTER struct pmu_counts
#include "bpf/process/cost_counter.h"

/* Which counters there are: 1 << enum pmu_count. The daemon sets it before they are attached. */
uint32_t pmu_known;

/* Each CPU's counters: CPU * PMU_COUNTS + enum pmu_count. */
struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(key_size, sizeof(uint32_t));
	__uint(value_size, sizeof(uint32_t));
} pmu_counters SEC(".maps");

/* What a CPU's counters had at the last switch. */
struct pmu_before {
	struct bpf_perf_event_value of[PMU_COUNTS];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct pmu_before);
} pmu_before SEC(".maps");

/* Times are cut to so many bits before a count is multiplied with them: to 0.0001 %. A count of 256
 * s at 4 GHz has 40 bits, so no product has more than 64. */
#define TIME_BITS 24

/* Returns count * wanted / ran. */
static __always_inline uint64_t scale_count(uint64_t count, uint64_t wanted, uint64_t ran)
{
	uint64_t whole = wanted / ran, rest = wanted % ran;

	for (int i = 0; i < 40 && ran >> TIME_BITS; i++) {
		ran >>= 1;
		rest >>= 1;
	}
	return count * whole + count * rest / ran;
}

/* Adds what a counter has counted since `before`. */
static __always_inline void add_counts(struct pmu_counts *counts, unsigned which,
				       const struct bpf_perf_event_value *before,
				       const struct bpf_perf_event_value *now)
{
	uint64_t wanted = now->enabled - before->enabled, ran = now->running - before->running;
	uint64_t kept = counts->not_run_ns[which];

	if (!ran) {
		__sync_fetch_and_add(&counts->not_run_ns[which], wanted);
		return;
	}
	/* Another CPU may have taken the same: then it is below zero until more time has come. */
	if ((int64_t)kept > 0) {
		__sync_fetch_and_add(&counts->not_run_ns[which], -kept);
		wanted += kept;
	}
	__sync_fetch_and_add(&counts->of[which],
			     scale_count(now->counter - before->counter, wanted, ran));
}

/* Adds what the CPU's counters have counted since the last switch to the process. The idle task's
 * is passed over. */
static __always_inline void count_until_now(struct task_struct *task)
{
	uint32_t zero = 0, cpu = bpf_get_smp_processor_id();
	struct pmu_before *before = bpf_map_lookup_elem(&pmu_before, &zero);
	struct pmu_counts *counts = NULL;
	bool has_time = false;

	if (!before)
		return;
	if (BPF_CORE_READ(task, pid))
		counts = counters_of(task);
	for (unsigned i = 0; i < PMU_COUNTS; i++) {
		struct bpf_perf_event_value now, *last = &before->of[i];

		if (!(pmu_known & 1U << i) ||
		    bpf_perf_event_read_value(&pmu_counters, cpu * PMU_COUNTS + i, &now,
					      sizeof(now)))
			continue;
		/* The first reading, and the first of a CPU that was off-line, tell nothing. */
		if (counts && last->enabled && now.enabled > last->enabled) {
			if (!has_time)
				__sync_fetch_and_add(&counts->ns, now.enabled - last->enabled);
			has_time = true;
			add_counts(counts, i, last, &now);
		}
		*last = now;
	}
}

SEC("raw_tp/sched_switch")
int on_pmu_switch(struct bpf_raw_tracepoint_args *ctx)
{
	count_until_now((struct task_struct *)ctx->args[1]);
	return 0;
}

SEC("raw_tp")
int count_running(struct bpf_raw_tracepoint_args *ctx)
{
	count_until_now((struct task_struct *)bpf_get_current_task());
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
