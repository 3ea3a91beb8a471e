// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/lib/unit.h"

#include "loop/hung_set.h"

static void what_hung_is_left_alone_until_its_time_is_over(void **state)
{
	static struct hung_set set;

	(void)state;
	assert_int_equal(hung_set_until_ns(&set, 0, 0, 0), 0);
	hung_set_add(&set, 7, 1, 100);
	hung_set_add(&set, 7, 2, UINT64_MAX);
	assert_int_equal(hung_set_until_ns(&set, 7, 1, 99), 100);
	assert_int_equal(hung_set_until_ns(&set, 7, 1, 100), 0);
	assert_int_equal(hung_set_until_ns(&set, 7, 2, 100), UINT64_MAX);
	assert_int_equal(hung_set_until_ns(&set, 8, 1, 0), 0);
	assert_int_equal(hung_set_until_ns(&set, 7, 3, 0), 0);
}

static void what_hung_again_waits_for_its_new_time(void **state)
{
	static struct hung_set set;

	(void)state;
	hung_set_add(&set, 7, 1, 100);
	hung_set_add(&set, 7, 1, 300);
	assert_int_equal(hung_set_until_ns(&set, 7, 1, 200), 300);
}

static void a_full_set_forgets_the_oldest_alone(void **state)
{
	static struct hung_set set;

	(void)state;
	for (uint64_t i = 0; i <= HUNG_SET_MAX; i++)
		hung_set_add(&set, i, i, 100);
	assert_int_equal(hung_set_until_ns(&set, 0, 0, 1), 0);
	for (uint64_t i = 1; i <= HUNG_SET_MAX; i++)
		assert_int_equal(hung_set_until_ns(&set, i, i, 1), 100);
}

static void those_with_a_number_in_common_are_counted_until_their_time_is_over(void **state)
{
	static struct hung_set set;

	(void)state;
	assert_int_equal(hung_set_count(&set, 0, 0), 0);
	hung_set_add(&set, 7, 1, 100);
	hung_set_add(&set, 7, 2, 200);
	hung_set_add(&set, 8, 1, 200);
	assert_int_equal(hung_set_count(&set, 7, 99), 2);
	assert_int_equal(hung_set_count(&set, 7, 100), 1);
	assert_int_equal(hung_set_count(&set, 7, 200), 0);
	assert_int_equal(hung_set_count(&set, 9, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_hung_is_left_alone_until_its_time_is_over),
		cmocka_unit_test(what_hung_again_waits_for_its_new_time),
		cmocka_unit_test(a_full_set_forgets_the_oldest_alone),
		cmocka_unit_test(
			those_with_a_number_in_common_are_counted_until_their_time_is_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
