// SPDX-License-Identifier: GPL-2.0-or-later
/* history/history_length: windows while somebody sets the clock, and while the daemon is late. */
#include "unit/lib/unit.h"

#include "base/clock.h"
#include "history/history_length.h"

#define SECOND ((int64_t)NS_PER_S)
#define DAY    (86400 * SECOND)
#define REAL   (INT64_C(1699999200) * SECOND) /* when CLOCK_MONOTONIC says 1000 s */
#define NOW    (UINT64_C(1000) * NS_PER_S)

/* Clocks that were looked at, at REAL. */
static struct history_clock looked_at(void)
{
	return (struct history_clock){.offset = REAL - (int64_t)NOW};
}

/* Returns the length of a window after `passed` ns, in which the clock was set by `by`. */
static uint64_t length_of(struct history_clock *clock, int64_t passed, int64_t by)
{
	uint64_t lasted_ns =
		history_lasted_ns(clock, REAL + passed + by, NOW + (uint64_t)passed, NOW);

	return history_length_ns(REAL, REAL + passed + by, lasted_ns);
}

static void a_window_is_as_long_as_its_times_are_apart(void **state)
{
	struct history_clock clock = looked_at();

	(void)state;
	assert_int_equal(length_of(&clock, 30 * SECOND, 0), 30 * SECOND);
	assert_int_equal(length_of(&clock, 30 * SECOND, 2 * SECOND), 32 * SECOND); /* no setting */
	assert_int_equal(history_length_ns(REAL, REAL - SECOND, HISTORY_NOT_SET), 0);
}

static void a_time_that_never_was_is_in_no_window(void **state)
{
	struct history_clock clock = looked_at();

	(void)state;
	assert_int_equal(length_of(&clock, 30 * SECOND, DAY), 30 * SECOND);
}

static void a_late_daemon_makes_no_window_shorter(void **state)
{
	struct history_clock clock = looked_at();
	/* It began 20 s ago, of which the daemon has read the window before for 19 s. */
	uint64_t lasted_ns = history_lasted_ns(&clock, REAL + 20 * SECOND, NOW + 20 * NS_PER_S,
					       NOW + 19 * NS_PER_S);

	(void)state;
	assert_int_equal(history_length_ns(REAL, REAL + 20 * SECOND, lasted_ns), 20 * SECOND);
}

static void the_window_that_runs_when_the_setting_is_seen_is_short_too(void **state)
{
	struct history_clock clock = looked_at();
	uint64_t began_ns = NOW + 30 * NS_PER_S, now_ns = NOW + 31 * NS_PER_S;

	(void)state;
	/* The one before ended, then the clock was set, then that one was looked at. */
	assert_int_equal(
		history_length_ns(REAL, REAL + 30 * SECOND,
				  history_lasted_ns(&clock, REAL + 31 * SECOND + DAY, now_ns, NOW)),
		30 * SECOND);
	now_ns += 29 * NS_PER_S;
	assert_int_equal(history_length_ns(REAL + 30 * SECOND, REAL + 60 * SECOND + DAY,
					   history_lasted_ns(&clock, REAL + 60 * SECOND + DAY,
							     now_ns, began_ns)),
			 30 * SECOND);
	/* A minute later nothing of that is left. */
	began_ns = NOW + 92 * NS_PER_S;
	assert_true(history_lasted_ns(&clock, REAL + 99 * SECOND + DAY, NOW + 99 * NS_PER_S,
				      began_ns) == HISTORY_NOT_SET);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_window_is_as_long_as_its_times_are_apart),
		cmocka_unit_test(a_time_that_never_was_is_in_no_window),
		cmocka_unit_test(a_late_daemon_makes_no_window_shorter),
		cmocka_unit_test(the_window_that_runs_when_the_setting_is_seen_is_short_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
