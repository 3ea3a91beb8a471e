/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A set of what hung, each known by two numbers, and until when it is left alone. A new entry
 * replaces the oldest. Begins with zeroes. */
#pragma once

#include <stdint.h>

#define HUNG_SET_MAX 1024

struct hung_set {
	struct {
		uint64_t a, b, until_ns;
	} each[HUNG_SET_MAX];
	uint64_t added;
};

static inline void hung_set_add(struct hung_set *set, uint64_t a, uint64_t b, uint64_t until_ns)
{
	uint64_t at = set->added++ % HUNG_SET_MAX;

	set->each[at].a = a;
	set->each[at].b = b;
	set->each[at].until_ns = until_ns;
}

/* Returns until when it is left alone; 0: its time is over, or it isn't known to hang. */
static inline uint64_t hung_set_until_ns(const struct hung_set *set, uint64_t a, uint64_t b,
					 uint64_t now_ns)
{
	for (unsigned i = 0; i < HUNG_SET_MAX && i < set->added; i++) {
		if (set->each[i].a == a && set->each[i].b == b && set->each[i].until_ns > now_ns)
			return set->each[i].until_ns;
	}
	return 0;
}

/* Returns how many are left alone whose first number is `a`. */
static inline unsigned hung_set_count(const struct hung_set *set, uint64_t a, uint64_t now_ns)
{
	unsigned count = 0;

	for (unsigned i = 0; i < HUNG_SET_MAX && i < set->added; i++)
		count += set->each[i].a == a && set->each[i].until_ns > now_ns;
	return count;
}
