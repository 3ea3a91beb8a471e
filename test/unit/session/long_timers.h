/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Timers that are far ahead, which a test makes expire at once: the end of a period, of a window,
 * of a session on demand. Each has a length that no other timer has.
 *
 * The linker turns our objects' calls into those below (UNITFLAGS).
 */
#pragma once

#include "unit/lib/unit.h"

#include "loop/loop.h"

/* Lengths, s. */
#define PERIOD_S   20000
#define ONDEMAND_S 30000
/* Windows end at multiples of it since 1970: first in 2033, then in 2096. */
#define WINDOW_S 2000000000U

#define LONG_NS	 (10000 * NS_PER_S)
#define LONG_MAX 32

void __real_loop_timer_set(struct loop *loop, struct loop_timer *timer, uint64_t at_ns)
	__attribute__((weak));
void __real_loop_timer_cancel(struct loop *loop, struct loop_timer *timer) __attribute__((weak));
void __wrap_loop_timer_set(struct loop *loop, struct loop_timer *timer, uint64_t at_ns);
void __wrap_loop_timer_cancel(struct loop *loop, struct loop_timer *timer);

struct long_timer {
	struct loop *loop;
	struct loop_timer *timer; /* NULL: free */
	uint64_t length_ns;
};

static struct long_timer long_timers[LONG_MAX];

static struct long_timer *long_timer_of(const struct loop_timer *timer)
{
	for (int i = 0; i < LONG_MAX; i++) {
		if (long_timers[i].timer == timer)
			return &long_timers[i];
	}
	return NULL;
}

static inline void long_timer_drop(const struct loop_timer *timer)
{
	struct long_timer *known = long_timer_of(timer);

	if (known)
		known->timer = NULL;
}

void __wrap_loop_timer_set(struct loop *loop, struct loop_timer *timer, uint64_t at_ns)
{
	uint64_t now_ns = loop_now_ns();

	long_timer_drop(timer);
	if (at_ns > now_ns + LONG_NS) {
		struct long_timer *free_one = long_timer_of(NULL);

		assert_non_null(free_one);
		*free_one = (struct long_timer){loop, timer, at_ns - now_ns};
	}
	__real_loop_timer_set(loop, timer, at_ns);
}

void __wrap_loop_timer_cancel(struct loop *loop, struct loop_timer *timer)
{
	long_timer_drop(timer);
	__real_loop_timer_cancel(loop, timer);
}

/* Returns whether the timer's length is that, but for the time that setting it took. */
static inline bool long_timer_is(const struct long_timer *one, uint64_t length_s)
{
	uint64_t length_ns = length_s * NS_PER_S;

	if (!one->timer)
		return false;
	if (length_s == WINDOW_S)
		return one->length_ns > 1000 * LONG_NS;
	return one->length_ns <= length_ns && one->length_ns > length_ns - 1000 * NS_PER_S;
}

/* Returns how many timers of that length are set. */
static inline unsigned long_timers_count(uint64_t length_s)
{
	unsigned count = 0;

	for (int i = 0; i < LONG_MAX; i++)
		count += long_timer_is(&long_timers[i], length_s);
	return count;
}

/* Makes all timers of that length expire now; there must be one. */
static inline void long_timers_expire(uint64_t length_s)
{
	assert_true(long_timers_count(length_s) > 0);
	for (int i = 0; i < LONG_MAX; i++) {
		struct long_timer one = long_timers[i];

		if (!long_timer_is(&one, length_s))
			continue;
		long_timers[i].timer = NULL;
		__real_loop_timer_set(one.loop, one.timer, loop_now_ns());
	}
}
