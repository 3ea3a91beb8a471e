/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rate limiter of the probes: the guard keeps their run time below control.budget_ppm. A probe that
 * would need more takes the stack of one event in `interval`, drawn at random, with the weight
 * `interval`. So totals stay true (their error is chance: the square root of interval / events),
 * and an event that isn't drawn costs next to nothing.
 *
 *	guard_admits() -> weight, or 0: not drawn          (each event)
 *	... the stack is taken ...
 *	guard_account()                                    (each stack)
 *
 * Run time is measured in slices of 100 ms. When a slice ends, or its budget is used up earlier,
 * the next interval is chosen from the time used. A draw has no memory, so the interval may change
 * at any moment. If two CPUs end a slice at once, the interval may change twice: the next slice
 * corrects that.
 */
#pragma once

#include "bpf/core/shared_maps.h"

/* Cost of an event that isn't drawn. An object whose hooks cost more defines it before. */
#ifndef GUARD_SKIPPED_NS
#define GUARD_SKIPPED_NS 20ULL
#endif

#define GUARD_SLICE_NS	   100000000ULL
#define GUARD_CURRENT_NS   1000000000ULL /* older rates are ignored */
#define GUARD_STEP	   4		 /* largest factor by which an interval grows in a slice */
#define GUARD_INTERVAL_MAX (1U << 20)
#define GUARD_SIZE_MAX	   255 /* of guard_draws(): at some rate even the largest are thinned */
#define GUARD_TARGET	   80  /* percent of the budget that the guard aims at */
#define GUARD_LEFT	   4   /* stacks get 1/4 of that at least, whatever the events cost */
#define PPM		   1000000ULL

int guard_end_slice(uint32_t probe, uint64_t budget_ppm, uint64_t now_ns);

static __always_inline struct guard *guard_of(uint32_t probe)
{
	uint32_t zero = 0;
	struct control *settings = bpf_map_lookup_elem(&control, &zero);

	return settings && probe < PROBE_COUNT ? &settings->guards[probe] : NULL;
}

/* Returns a random number by S. Vigna's xorshift64*. *state belongs to one CPU and is 0 before the
 * first draw. The call of a helper, bpf_get_prandom_u32() too, takes 25 to 40 ns where the CPU
 * needs guarded returns; this function takes 3 ns. */
static __always_inline uint32_t draw_from(uint64_t *state)
{
	uint64_t x = *state;

	if (!x)
		x = (uint64_t)bpf_get_prandom_u32() << 32 | bpf_get_prandom_u32() | 1;
	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*state = x;
	return x * 0x2545f4914f6cdd1dULL >> 32;
}

static __always_inline uint32_t draw_random(void)
{
	uint32_t zero = 0;
	struct counters *mine = bpf_map_lookup_elem(&counters, &zero);

	return mine ? draw_from(&mine->draw) : 0;
}

/* Draws an event with the probability (size + 1) / interval and returns its weight; 0: not drawn.
 * *second is set if the event isn't drawn: true for another random set of events, which is equally
 * large (bpf/sched/walk_cost.h). */
static __always_inline uint32_t guard_draws(uint32_t probe, uint32_t size, bool *second)
{
	struct guard *guard = guard_of(probe);
	uint32_t interval = guard ? guard->interval : 0;
	uint32_t drawn;

	interval /= size + 1;
	if (interval <= 1)
		return 1;
	drawn = (uint64_t)draw_random() * interval >> 32;
	*second = drawn == 1;
	if (drawn)
		return 0;
	count_left_out(probe, interval - 1);
	return interval;
}

/* Returns the weight of an event whose stack is to be taken; 0: the event is not drawn. */
static __always_inline uint32_t guard_admits(uint32_t probe)
{
	bool second;

	return guard_draws(probe, 0, &second);
}

/* Returns all bits if the guard has ended a slice lately, else 0: arithmetic instead of a branch,
 * for the verifier follows both ways of each branch in a loop. */
static __always_inline uint64_t guard_is_current(const struct guard *guard, uint64_t now_ns)
{
	return -((now_ns - guard->slice_ns - GUARD_CURRENT_NS) >> 63);
}

/* Returns the part of the budget that the other probes leave, in ppm of one CPU; at least an equal
 * share among the probes that take stacks now. */
static __always_inline uint64_t guard_allowance(const struct control *settings, uint32_t probe,
						uint64_t budget_ppm, uint64_t now_ns)
{
	const struct guard *own = &settings->guards[probe];
	uint64_t current = guard_is_current(own, now_ns);
	uint64_t used = -(own->rate_ppm & current), sharing = 1 - (current & 1);

	for (uint32_t i = 0; i < PROBE_COUNT; i++) {
		const struct guard *guard = &settings->guards[i];

		current = guard_is_current(guard, now_ns);
		used += guard->rate_ppm & current;
		sharing += current & 1;
	}
	if (used + budget_ppm / sharing > budget_ppm)
		return budget_ppm / sharing;
	return budget_ppm - used;
}

/* Returns the interval with which the stacks would have used the aimed-at time. Events that aren't
 * drawn cost time as well; if these alone use up the budget, fewer stacks would not help. */
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

/* Ends the probe's slice. A global function, so the verifier checks it once; it runs some ten times
 * a second. */
__noinline int guard_end_slice(uint32_t probe, uint64_t budget_ppm, uint64_t now_ns)
{
	uint32_t zero = 0, interval;
	struct control *settings = bpf_map_lookup_elem(&control, &zero);
	uint64_t elapsed, taken_ppm, skipped_ppm;
	struct guard *guard;

	if (!settings || probe >= PROBE_COUNT)
		return 0;
	guard = &settings->guards[probe];
	interval = guard->interval ? guard->interval : 1;
	elapsed = (now_ns - guard->slice_ns) | 1;
	taken_ppm = guard->spent_ns * PPM / elapsed;
	skipped_ppm = guard->events * GUARD_SKIPPED_NS * PPM / elapsed;
	guard->rate_ppm = taken_ppm + skipped_ppm;
	guard->interval = guard_next(interval, taken_ppm, skipped_ppm,
				     guard_allowance(settings, probe, budget_ppm, now_ns), elapsed);
	guard->spent_ns = 0;
	guard->events = 0;
	guard->slice_ns = now_ns;
	return 0;
}

/* Books time that events took whose stacks aren't taken. */
static __always_inline void guard_spend(uint32_t probe, uint64_t ns)
{
	struct guard *guard = guard_of(probe);

	if (guard)
		__sync_fetch_and_add(&guard->spent_ns, ns);
}

/* Books the stack of an event with that weight, taken since `began_ns`. Returns the current time;
 * 0: there is no budget, so not even the clock is read. */
static __always_inline uint64_t guard_account(uint32_t probe, uint32_t weight, uint64_t began_ns)
{
	uint32_t zero = 0;
	struct control *settings = bpf_map_lookup_elem(&control, &zero);
	struct guard *guard;
	uint64_t now_ns;

	if (!settings || probe >= PROBE_COUNT)
		return 0;
	guard = &settings->guards[probe];
	if (!settings->budget_ppm) {
		if (guard->interval > 1)
			guard->interval = 1;
		return 0;
	}
	now_ns = bpf_ktime_get_ns();
	__sync_fetch_and_add(&guard->spent_ns, now_ns - began_ns);
	__sync_fetch_and_add(&guard->events, weight);
	if (now_ns - guard->slice_ns >= GUARD_SLICE_NS ||
	    guard->spent_ns * PPM >= settings->budget_ppm * GUARD_SLICE_NS)
		guard_end_slice(probe, settings->budget_ppm, now_ns);
	return now_ns;
}
