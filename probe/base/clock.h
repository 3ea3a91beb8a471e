/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The system's clocks, in nanoseconds. Any thread. */
#pragma once

#include <stdint.h>
#include <time.h>

#define NS_PER_S  1000000000ULL
#define NS_PER_MS 1000000ULL

/* Returns the time of `clock`: CLOCK_MONOTONIC, CLOCK_REALTIME (since 1970), CLOCK_BOOTTIME … */
static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec now = {0};

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}
