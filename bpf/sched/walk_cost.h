/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Estimate of the time that a walk adds to the wait whose stack it takes: the task that runs next
 * finds the CPU's caches full of the walk. The time is 0.3 us; but a wait of 3 us that stands for
 * 600 others would be counted a tenth too long.
 *
 * Where stacks are thinned, as many other waits are drawn as a control sample: their time is taken,
 * their stack isn't. A walk adds the difference between the average short wait with a walk and the
 * average short wait of the control sample. (Both samples are drawn with the same probability; both
 * leave out waits of AFTER_SHORT_NS or more.)
 */
#pragma once

#include "bpf/core/shared_maps.h"

#define AFTER_SHORT_NS 50000ULL
#define AFTER_LEAST    256  /* waits of each sample before the estimate is used */
#define AFTER_MOST     8192 /* waits of each sample that are remembered, about */

struct after_sum {
	uint64_t ns, waits;
};

/* The samples of a CPU: waits with a walk, and the control sample. */
struct aftermath {
	struct after_sum walked, timed;
	uint64_t left_ns; /* when the thread left whose wait is being timed */
	uint32_t tid;	  /* that thread; 0: no wait is being timed */
	uint32_t pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct aftermath);
} aftermaths SEC(".maps");

static __always_inline struct aftermath *aftermath_get(void)
{
	uint32_t zero = 0;

	return bpf_map_lookup_elem(&aftermaths, &zero);
}

static __always_inline void after_add(struct after_sum *sum, uint64_t ns)
{
	if (ns >= AFTER_SHORT_NS)
		return;
	if (sum->waits >= AFTER_MOST) {
		sum->ns /= 2;
		sum->waits /= 2;
	}
	sum->ns += ns;
	sum->waits++;
}

/* Starts to time the wait of `prev` for the control sample, unless this CPU times another wait. */
static __always_inline void after_time(const struct task_struct *prev)
{
	struct aftermath *mine = aftermath_get();
	uint64_t now_ns = bpf_ktime_get_ns();

	if (!mine || (mine->tid && now_ns - mine->left_ns < AFTER_SHORT_NS))
		return;
	mine->tid = prev->pid;
	mine->left_ns = now_ns;
}

/* Ends the timing of the wait of `next`, if it is the one that is being timed. */
static __always_inline void after_timed(const struct task_struct *next)
{
	struct aftermath *mine = aftermath_get();

	if (!mine || mine->tid != (uint32_t)next->pid)
		return;
	mine->tid = 0;
	after_add(&mine->timed, bpf_ktime_get_ns() - mine->left_ns);
}

/* Adds a wait with a walk. Returns how many ns of it the walk has added, by the estimate; 0: not
 * known yet. */
static __always_inline uint64_t after_walked(uint64_t waited_ns)
{
	struct aftermath *mine = aftermath_get();
	uint64_t walked, timed;

	if (!mine)
		return 0;
	after_add(&mine->walked, waited_ns);
	if (mine->walked.waits < AFTER_LEAST || mine->timed.waits < AFTER_LEAST)
		return 0;
	walked = mine->walked.ns / mine->walked.waits;
	timed = mine->timed.ns / mine->timed.waits;
	if (walked <= timed)
		return 0;
	return walked - timed < waited_ns ? walked - timed : waited_ns;
}
