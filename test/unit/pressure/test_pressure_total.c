// SPDX-License-Identifier: GPL-2.0-or-later
/* The sum of all stalls, looked at now and then: how long tasks were stalled in the last window. */
#include "unit/lib/unit.h"

#include "base/clock.h"
#include "pressure/pressure_total.h"

#define MS(n) ((n)*NS_PER_MS)
#define US(n) ((n)*1000ULL) /* ms as us */

static struct pressure_total total_of(uint32_t stall_ms, uint32_t window_ms)
{
	struct pressure_total total;

	pressure_total_begin(&total, stall_ms * 1000, window_ms * 1000);
	return total;
}

static void what_was_before_the_first_look_does_not_count(void **state)
{
	struct pressure_total total = total_of(300, 2000);

	(void)state;
	assert_false(pressure_total_add(&total, MS(1000), US(5000000)));
	assert_false(pressure_total_add(&total, MS(2000), US(5000000) + 299999));
	assert_true(pressure_total_add(&total, MS(3000), US(5000000) + 300000));
}

static void stalls_of_one_window_are_added_up(void **state)
{
	struct pressure_total total = total_of(300, 3000);

	(void)state;
	pressure_total_add(&total, MS(1000), 0);
	assert_false(pressure_total_add(&total, MS(2000), US(100)));
	assert_false(pressure_total_add(&total, MS(3000), US(200)));
	assert_true(pressure_total_add(&total, MS(4000), US(300)));
}

static void stalls_that_are_too_far_apart_are_not(void **state)
{
	struct pressure_total total = total_of(300, 3000);
	uint64_t sum_us = 0;

	(void)state;
	for (uint64_t at = 1; at < 100; at++)
		assert_false(pressure_total_add(&total, MS(at * 1000), sum_us += 99999));
	assert_true(total.count <= 4);
}

/* The window begins in the middle of two looks: half of what was between them is in it. */
static void between_two_looks_a_stall_is_spread_evenly(void **state)
{
	struct pressure_total total = total_of(150, 2000);

	(void)state;
	pressure_total_add(&total, MS(1000), 0);
	assert_false(pressure_total_add(&total, MS(2000), US(149)));
	assert_false(pressure_total_add(&total, MS(3500), US(149) + 75499));
	total = total_of(150, 2000);
	pressure_total_add(&total, MS(1000), 0);
	assert_false(pressure_total_add(&total, MS(2000), US(149)));
	assert_true(pressure_total_add(&total, MS(3500), US(149) + 75500));
}

/* The loop was late, or the machine slept. */
static void a_late_look_counts_its_share_of_the_window(void **state)
{
	struct pressure_total total = total_of(300, 1000);

	(void)state;
	pressure_total_add(&total, MS(1000), 0);
	assert_false(pressure_total_add(&total, MS(11000), US(2999)));
	total = total_of(300, 1000);
	pressure_total_add(&total, MS(1000), 0);
	assert_true(pressure_total_add(&total, MS(11000), US(3000)));
}

static void a_sum_that_is_smaller_begins_anew(void **state)
{
	struct pressure_total total = total_of(300, 2000);

	(void)state;
	pressure_total_add(&total, MS(1000), US(5000));
	assert_false(pressure_total_add(&total, MS(2000), US(1)));
	assert_false(pressure_total_add(&total, MS(3000), US(300)));
	assert_true(pressure_total_add(&total, MS(4000), US(301)));
}

static void looks_that_come_too_often_find_room(void **state)
{
	struct pressure_total total = total_of(300, 10000);
	bool rises = false;

	(void)state;
	for (uint64_t i = 0; i < 1000 && !rises; i++)
		rises = pressure_total_add(&total, MS(1000 + i), i * 1000);
	assert_false(rises); /* it has 15 ms of them */
	assert_int_equal(total.count, PRESSURE_LOOKS_MAX);
}

static void the_sum_is_read_of_its_line(void **state)
{
	static const char text[] = "some avg10=1.00 avg60=2.00 avg300=3.00 total=23263047055\n"
				   "full avg10=0.00 avg60=0.00 avg300=0.00 total=17\n";
	uint64_t total_us = 0;

	(void)state;
	assert_int_equal(pressure_total_read(text, false, &total_us), 0);
	assert_int_equal(total_us, 23263047055);
	assert_int_equal(pressure_total_read(text, true, &total_us), 0);
	assert_int_equal(total_us, 17);
}

/* Before Linux 5.13 there is no "full" of cpu. */
static void a_line_that_is_not_there_is_enoent(void **state)
{
	static const char *const texts[] = {"", "some avg10=1.00 total=5\n", "full", "full avg=1\n",
					    "full avg=1\nsome total=3\n"};
	uint64_t total_us = 42;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_int_equal(pressure_total_read(texts[i], true, &total_us), -ENOENT);
	assert_int_equal(total_us, 42);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_before_the_first_look_does_not_count),
		cmocka_unit_test(stalls_of_one_window_are_added_up),
		cmocka_unit_test(stalls_that_are_too_far_apart_are_not),
		cmocka_unit_test(between_two_looks_a_stall_is_spread_evenly),
		cmocka_unit_test(a_late_look_counts_its_share_of_the_window),
		cmocka_unit_test(a_sum_that_is_smaller_begins_anew),
		cmocka_unit_test(looks_that_come_too_often_find_room),
		cmocka_unit_test(the_sum_is_read_of_its_line),
		cmocka_unit_test(a_line_that_is_not_there_is_enoent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
