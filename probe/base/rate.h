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

/* Whether once more is allowed now; then it counts. */
static inline bool rate_take(struct rate *rate, uint64_t now_ns)
{
	uint64_t from = rate->paid_until_ns > now_ns ? rate->paid_until_ns : now_ns;

	if (from - now_ns + rate->every_ns > rate->every_ns * rate->burst)
		return false;
	rate->paid_until_ns = from + rate->every_ns;
	return true;
}
