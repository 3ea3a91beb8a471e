/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reports of tasks that waited long: for their CPU, with the tasks that had the CPU meanwhile
 * (runqslower), or for anything else (offcpuslower). While runqslower is on, each CPU keeps its
 * last slices, idle ones too.
 */
#pragma once

#include "bpf/core/shared_maps.h"
#include "bpf/shared/scheduler.h"

extern struct sched_settings sched;

int slices_copy(uint32_t first, uint64_t since_ns);
int slow_send(uint32_t probe, uint64_t delay_ns, uint64_t now_ns);

#define SLOW_RING_BYTES	   (256 * 1024)
#define SLICES_RUN	   16	       /* slices that one call copies; a divisor of SLICES_MAX */
#define SLOW_WAKE_EVERY_NS 20000000ULL /* on each CPU; the daemon's own waits are reported, too */

/* The last slices of a CPU. Slice number n lies at n % SLICES_MAX. */
struct slices {
	uint64_t count;	      /* slices since the begin */
	uint64_t switched_ns; /* when the last slice ended; 0: none yet */
	uint64_t woke_ns;     /* when this CPU woke the daemon last */
	struct slice at[SLICES_MAX];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct slices);
} slices SEC(".maps");

/* Buffer of the record that is sent; too large for the stack. */
struct slow_report {
	struct slow_event event;
	struct slice slices[SLICES_MAX];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct slow_report);
} slow_reports SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, SLOW_RING_BYTES);
} slow SEC(".maps");

/* Keeps the CPU's slice of `prev`, which ends. */
static __always_inline void slice_keep(struct task_struct *prev, uint64_t now_ns)
{
	uint32_t zero = 0;
	struct slices *mine = bpf_map_lookup_elem(&slices, &zero);
	struct slice *slice;

	if (!mine)
		return;
	slice = &mine->at[mine->count++ & (SLICES_MAX - 1)];
	slice->ended_ns = now_ns;
	slice->ran_ns = mine->switched_ns ? now_ns - mine->switched_ns : 0;
	slice->tid = prev->pid;
	slice->tgid = prev->tgid;
	BPF_CORE_READ_INTO(&slice->comm, prev, comm);
	mine->switched_ns = now_ns;
}

/* Copies a run of the slices that ended after `since_ns` to the CPU's report, newest first, from
 * slice `first` of them on. Returns whether the whole run was copied. */
__noinline int slices_copy(uint32_t first, uint64_t since_ns)
{
	uint32_t zero = 0;
	struct slow_report *report = bpf_map_lookup_elem(&slow_reports, &zero);
	const struct slices *mine = bpf_map_lookup_elem(&slices, &zero);

	if (!report || !mine)
		return 0;
	for (uint32_t i = 0; i < SLICES_RUN; i++) {
		uint32_t n = (first + i) & (SLICES_MAX - 1);
		const struct slice *slice = &mine->at[(mine->count - 1 - n) & (SLICES_MAX - 1)];

		if (n >= mine->count || slice->ended_ns <= since_ns)
			return 0;
		report->slices[n] = *slice;
		report->event.slices_count = n + 1;
	}
	return 1;
}

static __always_inline uint64_t slow_flag(uint64_t now_ns)
{
	uint32_t zero = 0;
	struct slices *mine = bpf_map_lookup_elem(&slices, &zero);

	if (!mine || (now_ns - mine->woke_ns < SLOW_WAKE_EVERY_NS &&
		      bpf_ringbuf_query(&slow, BPF_RB_AVAIL_DATA) < SLOW_RING_BYTES / 4))
		return BPF_RB_NO_WAKEUP;
	mine->woke_ns = now_ns;
	return BPF_RB_FORCE_WAKEUP;
}

/* Returns whether it matters for the probe's events who had the CPU meanwhile. */
static __always_inline bool has_slices(uint32_t probe)
{
	return sched_probes_at(RUNQ_ENDED) & 1U << probe;
}

/* Sends the CPU's report, of which the task is known already. A global function, so the verifier
 * checks it once. */
__noinline int slow_send(uint32_t probe, uint64_t delay_ns, uint64_t now_ns)
{
	uint32_t zero = 0;
	struct slow_report *report = bpf_map_lookup_elem(&slow_reports, &zero);
	struct counters *mine = bpf_map_lookup_elem(&counters, &zero);
	uint64_t bytes;

	if (!report || !mine || probe >= SCHED_COUNT)
		return 0;
	report->event.probe = probe;
	report->event.time_ns = now_ns;
	report->event.delay_ns = delay_ns;
	report->event.cpu = bpf_get_smp_processor_id();
	report->event.slices_count = 0;
	for (uint32_t i = 0; has_slices(probe) && i < SLICES_MAX; i += SLICES_RUN) {
		if (!slices_copy(i, now_ns - delay_ns))
			break;
	}
	bytes = sizeof(report->event) + report->event.slices_count * sizeof(struct slice);
	mine->slow_waits[probe]++;
	if (bytes > sizeof(*report) || bpf_ringbuf_output(&slow, report, bytes, slow_flag(now_ns)))
		mine->slow_lost++;
	return 0;
}

/* Reports that `next`, which gets a CPU now, waited too long. `state`: in which it left. */
static __noinline void slow_tell(struct task_struct *next, uint32_t probe, uint32_t state,
				 uint64_t delay_ns, uint64_t now_ns)
{
	uint32_t zero = 0;
	struct slow_report *report = bpf_map_lookup_elem(&slow_reports, &zero);

	if (!report)
		return;
	report->event.tgid = next->tgid;
	report->event.tid = next->pid;
	report->event.state = state;
	BPF_CORE_READ_INTO(&report->event.comm, next, comm);
	slow_send(probe, delay_ns, now_ns);
}
