/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a walk adds to the wait that it is of, behind itself: whoever runs next finds the CPU's
 * caches full of the walk. 0.3 us; a wait of 3 us that stands for 600 others would tell a tenth too
 * much.
 *
 * Where stacks are thinned as many waits are drawn whose time is taken and whose stack isn't. How
 * much longer the others' short waits are, on average, is what a walk adds. (Both are drawn by the
 * same odds; those that are cut off at AFTER_SHORT_NS are of both kinds.)
 */
#pragma once

#include "bpf/core/maps.h"

#define AFTER_SHORT_NS 50000ULL
#define AFTER_LEAST    256  /* waits of each kind before it is believed */
#define AFTER_MOST     8192 /* … that are remembered, about */

struct after_sum {
	uint64_t ns, waits;
};

/* Of a CPU. */
struct aftermath {
	struct after_sum walked, timed;
	uint64_t left_ns; /* when the thread left whose time is taken */
	uint32_t tid;	  /* 0: none's */
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

/* A thread leaves whose time is to be taken. Nobody's is given up for it. */
static __always_inline void after_time(const struct task_struct *prev)
{
	struct aftermath *mine = aftermath_get();
	uint64_t now_ns = bpf_ktime_get_ns();

	if (!mine || (mine->tid && now_ns - mine->left_ns < AFTER_SHORT_NS))
		return;
	mine->tid = prev->pid;
	mine->left_ns = now_ns;
}

static __always_inline void after_timed(const struct task_struct *next)
{
	struct aftermath *mine = aftermath_get();

	if (!mine || mine->tid != (uint32_t)next->pid)
		return;
	mine->tid = 0;
	after_add(&mine->timed, bpf_ktime_get_ns() - mine->left_ns);
}

/* Of a wait that was walked, and took so long: what of that is the walk's. */
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
