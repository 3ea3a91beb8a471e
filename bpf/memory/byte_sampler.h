/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sampler by bytes: one byte in `mean` is drawn at random, whatever allocation the byte lies in.
 * The distance from one drawn byte to the next is exponential, so it has no memory: it may be
 * counted on any CPU, over the bytes of all processes, and be drawn anew at any time. An allocation
 * that has a drawn byte (probability p = 1 - exp(-size / mean)) stands for size / p bytes.
 *
 * Fixed point: Qn has n binary places. The functions are global, so the verifier checks each once.
 * No jump depends on a bit of a number: the verifier would follow both ways.
 */
#pragma once

#ifdef __bpf__
#include "bpf/core/guard.h"
#else
#include <stdint.h>
#define __noinline __attribute__((noinline))
#endif
#include "bpf/shared/allocations.h"

#define COUNTDOWN_SURE	  24 /* a size of so many means is always taken: p is 1 - 4e-11 */
#define COUNTDOWN_PLACES  10 /* binary places of a weight */
#define COUNTDOWN_OBJECTS 20 /* binary places of a number of objects */

#define LN2_Q26		  46516320ULL /* ln 2 */
#define LOG2_E_Q26	  96817625ULL /* 1 / ln 2 */
#define ONE_Q26		  (1ULL << 26)
#define ONE_Q30		  (1ULL << 30)

uint64_t countdown_distance(uint32_t random, uint64_t mean);
uint64_t countdown_weight(uint64_t size, uint64_t mean);

/* Shifts x left by `by` bits if x is small enough, and adds the shift to *shifted. */
static __always_inline uint64_t normalized_by(uint64_t x, uint32_t by, uint32_t *shifted)
{
	uint64_t is_small = ((x >> (33 - by)) - 1) >> 63;

	*shifted += is_small * by;
	return x << (is_small * by);
}

/* Returns the bytes before the next drawn byte: -ln(u) * mean, rounded down, with u from 32 random
 * bits. Less than 23 means. */
__noinline uint64_t countdown_distance(uint32_t random, uint64_t mean)
{
	uint64_t x = 2ULL * random + 1, log = 0; /* u = x / 2^33, neither 0 nor 1 */
	uint32_t shifted = 0;

	if (mean > COUNTDOWN_MEAN_MAX)
		return 0;
	x = normalized_by(x, 16, &shifted);
	x = normalized_by(x, 8, &shifted);
	x = normalized_by(x, 4, &shifted);
	x = normalized_by(x, 2, &shifted);
	x = normalized_by(x, 1, &shifted);
	/* x may have had 32 leading zeros as well. */
	x = normalized_by(x, 1, &shifted);
	x >>= 1; /* in [1, 2), Q31 */
	for (int i = 0; i < 32; i++) {
		uint64_t bit;

		x = x * x >> 31;
		bit = x >> 32;
		x >>= bit;
		log = log << 1 | bit;
	}
	log = ((1ULL + shifted) << 32) - log; /* -log2(u), Q32 */
	return ((log * LN2_Q26 >> 32) * mean) >> 26;
}

/* Returns x / (1 - exp(-x)) in Q30, for x below 1 in Q26: Bernoulli's series. */
static __always_inline uint64_t weight_of_small(uint64_t x_q26)
{
	uint64_t x = x_q26 << 4, x2 = x * x >> 30, x4 = x2 * x2 >> 30, x6 = x4 * x2 >> 30;

	return ONE_Q30 + x / 2 + x2 / 12 - x4 / 720 + x6 / 30240;
}

/* Returns exp(-x) in Q30, for x in Q26. */
static __always_inline uint64_t exp_of_minus(uint64_t x_q26)
{
	uint64_t y = x_q26 * LOG2_E_Q26 >> 26;
	uint64_t t = (ONE_Q26 - (y & (ONE_Q26 - 1))) * LN2_Q26 >> 22; /* Q30, in (0, ln 2] */
	uint64_t sum = ONE_Q30;

	/* 2^-y = 2^(1 - fraction) / 2^(1 + whole) */
#pragma GCC unroll 10
	for (uint32_t n = 10; n > 0; n--)
		sum = ONE_Q30 + t * sum / (n * ONE_Q30);
	return sum >> (1 + (y >> 26));
}

/* Returns how many bytes a drawn allocation of `size` bytes stands for, in Q10; size < 2^53. A mean
 * of 0: each allocation is taken. Exact to 1e-6. */
__noinline uint64_t countdown_weight(uint64_t size, uint64_t mean)
{
	uint64_t x, e;

	if (!mean || mean > COUNTDOWN_MEAN_MAX || size >= mean * COUNTDOWN_SURE)
		return size << COUNTDOWN_PLACES;
	x = (size << 26) / mean;
	if (x < ONE_Q26)
		return mean * weight_of_small(x) >> (30 - COUNTDOWN_PLACES);
	e = exp_of_minus(x);
	return (size << COUNTDOWN_PLACES) +
	       (size * ((e << 26) / (ONE_Q30 - e)) >> (26 - COUNTDOWN_PLACES));
}

/* Returns a number with so many binary places as an integer; the fraction is rounded up or down at
 * random, by its size. */
static __always_inline uint64_t round_places(uint64_t number, uint32_t places, uint32_t random)
{
	return (number + (random & ((1U << places) - 1))) >> places;
}

/* Returns how many allocations of that size an allocation with this weight stands for. */
static __always_inline uint64_t countdown_objects(uint64_t weight, uint64_t size, uint32_t random)
{
	if (!size || weight == size << COUNTDOWN_PLACES)
		return 1;
	return round_places((weight << (COUNTDOWN_OBJECTS - COUNTDOWN_PLACES)) / size,
			    COUNTDOWN_OBJECTS, random);
}

#ifdef __bpf__

/* State of a CPU. */
struct countdown {
	int64_t left;  /* bytes before the next drawn byte */
	uint64_t mean; /* the mean that `left` was drawn for */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct countdown);
} countdowns SEC(".maps");

/* Counts the bytes of an allocation. Returns whether the allocation is taken. (A thread that is
 * preempted in here may undo the step of another thread; that is rarer than one in a million, and
 * random in either direction.) */
static __always_inline bool countdown_takes(uint64_t size, uint64_t mean)
{
	uint32_t zero = 0;
	struct countdown *mine = bpf_map_lookup_elem(&countdowns, &zero);

	if (!mine)
		return false;
	if (mine->mean != mean) {
		mine->mean = mean;
		mine->left = countdown_distance(draw_random(), mean);
	}
	mine->left -= size;
	if (mine->left >= 0)
		return false;
	mine->left = countdown_distance(draw_random(), mean);
	return true;
}

#endif
