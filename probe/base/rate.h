/* SPDX-License-Identifier: GPL-2.0-only */
/* How often something may be done: `burst` times at once, and then once each `every_ns`. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct rate {
	uint64_t every_ns;
	unsigned burst;
	uint64_t paid_until_ns; /* 0 at first */
};

/* Whether once more is allowed now. */
static inline bool rate_allows(const struct rate *rate, uint64_t now_ns)
{
	uint64_t from = rate->paid_until_ns > now_ns ? rate->paid_until_ns : now_ns;

	return from - now_ns + rate->every_ns <= rate->every_ns * rate->burst;
}

/* Whether once more is allowed now; then it counts. */
static inline bool rate_take(struct rate *rate, uint64_t now_ns)
{
	if (!rate_allows(rate, now_ns))
		return false;
	rate->paid_until_ns =
		(rate->paid_until_ns > now_ns ? rate->paid_until_ns : now_ns) + rate->every_ns;
	return true;
}

/* Whether the whole burst is allowed: nothing needs to be remembered of what was done before. */
static inline bool rate_is_rested(const struct rate *rate, uint64_t now_ns)
{
	return rate->paid_until_ns <= now_ns;
}
