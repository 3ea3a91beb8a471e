/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long a window was, though its times are those of a clock that may be set. Pure functions; a
 * history_clock belongs to one thread.
 */
#pragma once

#include <stdint.h>

/* What is known of the clocks. */
struct history_clock {
	int64_t offset; /* CLOCK_REALTIME without CLOCK_MONOTONIC, ns, when it was last looked at */
	uint64_t set_ns; /* CLOCK_MONOTONIC when that was found to have changed; 0: never */
};

#define HISTORY_NOT_SET UINT64_MAX

/*
 * Looks whether somebody has set the clock; `real_ns` and `now_ns` are what CLOCK_REALTIME and
 * CLOCK_MONOTONIC say. Returns how long a window has lasted since `began_ns` (CLOCK_MONOTONIC), ns;
 * HISTORY_NOT_SET if nobody has set the clock in that time, nor shortly before: its times are right
 * then, and `began_ns` may be late, as the daemon was.
 */
uint64_t history_lasted_ns(struct history_clock *clock, int64_t real_ns, uint64_t now_ns,
			   uint64_t began_ns);

/* Returns the length of a window, ns: by its times (ns since 1970), but if these are much further
 * apart than it has lasted: the clock was set ahead, and such a time never was. */
uint64_t history_length_ns(int64_t from, int64_t until, uint64_t lasted_ns);
