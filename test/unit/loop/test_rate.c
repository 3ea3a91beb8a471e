// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/lib/unit.h"

#include "loop/rate.h"

#define START 1000000

static void a_burst_is_allowed_and_then_once_each_interval(void **state)
{
	struct rate rate = {.every_ns = 100, .burst = 3};

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_true(rate_take(&rate, START));
	assert_false(rate_take(&rate, START));
	assert_false(rate_take(&rate, START + 99));
	assert_true(rate_take(&rate, START + 101));
	assert_false(rate_take(&rate, START + 101));
}

static void a_long_rest_allows_one_burst_and_no_more(void **state)
{
	struct rate rate = {.every_ns = 100, .burst = 3};
	int taken = 0;

	(void)state;
	for (int i = 0; i < 10; i++)
		taken += rate_take(&rate, START);
	assert_int_equal(taken, 3);
	for (int i = 0; i < 10; i++)
		taken += rate_take(&rate, START * 100);
	assert_int_equal(taken, 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_burst_is_allowed_and_then_once_each_interval),
		cmocka_unit_test(a_long_rest_allows_one_burst_and_no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
