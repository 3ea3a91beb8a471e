// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/lib/unit.h"

#include "loop/shares.h"

static void who_takes_all_of_his_leaves_the_others_theirs(void **state)
{
	struct shares *shares;

	(void)state;
	assert_int_equal(shares_new(&shares, 100), 0);
	assert_int_equal(shares_left(shares, 1), 100);
	shares_take(shares, 1, 60);
	assert_int_equal(shares_left(shares, 1), 40);
	shares_take(shares, 1, 60);
	assert_int_equal(shares_left(shares, 1), 0);
	assert_int_equal(shares_left(shares, 2), 100);
	shares_clear(shares);
	assert_int_equal(shares_left(shares, 1), 100);
	shares_free(shares);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_takes_all_of_his_leaves_the_others_theirs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
