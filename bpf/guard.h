/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The guard keeps the run time of the probes below control.budget_ppm: a probe that would need more
 * takes the stacks of one event in `interval`, drawn at random, each with that weight. So totals
 * stay true (their error is chance's: the square root of interval / events), and an event that
 *isn't drawn costs next to nothing.
 *
 *	guard_admits() -> weight, or 0: not this one       (each event)
 *	... the stack is taken ...
 *	guard_account()                                    (each stack)
 *
 * Time is counted in slices of 100 ms. At the end of a slice, or when its budget is gone before,
 *the next interval is chosen by what was used. A draw has no memory, so the interval may change at
 *any moment. Two CPUs that end a slice at once may change it twice: the next slice mends that.
 */
#pragma once

#include "maps.h"

#define GUARD_SLICE_NS	   100000000ULL
#define GUARD_CURRENT_NS   1000000000ULL /* a rate that is older says nothing of now */
#define GUARD_SKIPPED_NS   20ULL	 /* what an event costs that isn't drawn */
#define GUARD_STEP	   4		 /* an interval grows to that much at most in one slice */
#define GUARD_INTERVAL_MAX (1U << 20)
#define GUARD_TARGET	   80 /* percent of the budget that are aimed at */
#define GUARD_LEFT	   4  /* a quarter of that is for stacks, whatever the events cost */
#define PPM		   1000000ULL

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PROBE_COUNT);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, uint32_t);
	__type(value, struct guard);
} guards SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, uint64_t);
} draws SEC(".maps");

/* xorshift64* of S. Vigna, a state on each CPU. Where the CPU needs guarded returns a helper's call
 * takes 25 to 40 ns, bpf_get_prandom_u32()'s too; this takes 3. */
static __always_inline uint32_t draw(void)
{
	uint32_t zero = 0;
	uint64_t *state = bpf_map_lookup_elem(&draws, &zero), x;

	if (!state)
		return 0;
	x = *state;
	if (!x)
		x = (uint64_t)bpf_get_prandom_u32() << 32 | bpf_get_prandom_u32() | 1;
	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*state = x;
	return x * 0x2545f4914f6cdd1dULL >> 32;
}

/* The weight of an event whose stack is to be taken; 0: it isn't. */
static __always_inline uint32_t guard_admits(uint32_t probe)
{
	struct guard *guard = bpf_map_lookup_elem(&guards, &probe);
	uint32_t interval = guard ? guard->interval : 0;

	if (interval <= 1)
		return 1;
	return (uint64_t)draw() * interval >> 32 ? 0 : interval;
}

/* What of the budget the other probes leave, in ppm of one CPU; each has its share at least. */
static __always_inline uint64_t guard_allowance(uint32_t probe, uint64_t budget_ppm,
						uint64_t now_ns)
{
	uint64_t used = 0;

	for (uint32_t i = 0; i < PROBE_COUNT; i++) {
		uint32_t key = i;
		const struct guard *other = bpf_map_lookup_elem(&guards, &key);

		if (other && i != probe && now_ns - other->slice_ns < GUARD_CURRENT_NS)
			used += other->rate_ppm;
	}
	if (used + budget_ppm / PROBE_COUNT > budget_ppm)
		return budget_ppm / PROBE_COUNT;
	return budget_ppm - used;
}

/* The interval with which stacks had used what is aimed at. Events that aren't drawn cost as well;
 * where they alone use it up, fewer stacks would not help. */
static __always_inline uint32_t guard_next(uint32_t interval, uint64_t taken_ppm,
					   uint64_t skipped_ppm, uint64_t allowed_ppm,
					   uint64_t elapsed_ns)
{
	uint64_t aim = allowed_ppm * GUARD_TARGET / 100 + 1;
	uint64_t left = aim / GUARD_LEFT + 1;
	uint64_t slices = elapsed_ns / GUARD_SLICE_NS;
	uint64_t least = interval >> (slices < 20 ? slices : 20);
	uint64_t next;

	if (aim > skipped_ppm + left)
		left = aim - skipped_ppm;
	next = (interval * taken_ppm + left - 1) / left;
	if (next < least)
		next = least;
	if (next > (uint64_t)interval * GUARD_STEP)
		next = (uint64_t)interval * GUARD_STEP;
	if (next > GUARD_INTERVAL_MAX)
		next = GUARD_INTERVAL_MAX;
	return next ? next : 1;
}

static __always_inline void guard_end_slice(struct guard *guard, uint32_t probe,
					    uint64_t budget_ppm, uint64_t now_ns)
{
	uint32_t interval = guard->interval ? guard->interval : 1;
	uint64_t elapsed = (now_ns - guard->slice_ns) | 1;
	uint64_t taken_ppm = guard->spent_ns * PPM / elapsed;
	uint64_t skipped_ppm = guard->events * GUARD_SKIPPED_NS * PPM / elapsed;

	guard->rate_ppm = taken_ppm + skipped_ppm;
	guard->interval = guard_next(interval, taken_ppm, skipped_ppm,
				     guard_allowance(probe, budget_ppm, now_ns), elapsed);
	guard->spent_ns = 0;
	guard->events = 0;
	guard->slice_ns = now_ns;
}

/* The stack of an event with that weight, which began at `began_ns`, has been taken. */
static __always_inline void guard_account(uint32_t probe, uint32_t weight, uint64_t began_ns)
{
	uint32_t zero = 0;
	const struct control *settings = bpf_map_lookup_elem(&control, &zero);
	struct guard *guard = bpf_map_lookup_elem(&guards, &probe);
	uint64_t now_ns = bpf_ktime_get_ns();

	if (!settings || !guard)
		return;
	if (!settings->budget_ppm) {
		guard->interval = 1;
		return;
	}
	__sync_fetch_and_add(&guard->spent_ns, now_ns - began_ns);
	__sync_fetch_and_add(&guard->events, weight);
	if (now_ns - guard->slice_ns >= GUARD_SLICE_NS ||
	    guard->spent_ns * PPM >= settings->budget_ppm * GUARD_SLICE_NS)
		guard_end_slice(guard, probe, settings->budget_ppm, now_ns);
}
