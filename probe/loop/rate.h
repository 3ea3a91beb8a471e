/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A rate limit: allows something `burst` times at once, and then once every `every_ns`. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct rate {
	uint64_t every_ns;
	unsigned burst;
	uint64_t paid_until_ns; /* 0 at first; when the whole burst is allowed again */
};

/* Returns whether one more use is allowed now; does not count it. */
static inline bool rate_allows(const struct rate *rate, uint64_t now_ns)
{
	uint64_t from = rate->paid_until_ns > now_ns ? rate->paid_until_ns : now_ns;

	return from - now_ns + rate->every_ns <= rate->every_ns * rate->burst;
}

/* Returns whether one more use is allowed now, and counts it if so. */
static inline bool rate_take(struct rate *rate, uint64_t now_ns)
{
	if (!rate_allows(rate, now_ns))
		return false;
	rate->paid_until_ns =
		(rate->paid_until_ns > now_ns ? rate->paid_until_ns : now_ns) + rate->every_ns;
	return true;
}

/* Returns whether the whole burst is allowed: then earlier uses needn't be remembered, and the
 * caller may forget this `struct rate`. */
static inline bool rate_is_rested(const struct rate *rate, uint64_t now_ns)
{
	return rate->paid_until_ns <= now_ns;
}
