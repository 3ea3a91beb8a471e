/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A monotonic clock that a test sets ahead, so that a second passes at once. For a program that is
 * linked with --wrap=clock_gettime (UNITFLAGS in test/test.mk).
 */
#pragma once

#include "unit/lib/unit.h"

#include <stdatomic.h>
#include <time.h>

static atomic_long clock_ahead_s;

int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
	int r = __real_clock_gettime(clock, now);

	if (clock == CLOCK_MONOTONIC)
		now->tv_sec += clock_ahead_s;
	return r;
}

/* Lets a time pass. Jobs that are under way seem to last so much longer. */
static inline void clock_pass(long seconds)
{
	clock_ahead_s += seconds;
}
