// SPDX-License-Identifier: GPL-2.0-or-later
/* The transitions that target/lifecycle.h draws. */
#include "unit/lib/unit.h"

#include "target/target_table.h"

static void who_ends_undecided_is_still_decided_on(void **state)
{
	(void)state;
	assert_int_equal(target_state_ended(TARGET_UNDECIDED), TARGET_LEFT);
	assert_int_equal(target_state_ended(TARGET_WANTED), TARGET_ENDED);
}

static void an_end_is_told_once(void **state)
{
	static const enum target_state over[] = {TARGET_LEFT, TARGET_ENDED, TARGET_REJECTED};

	(void)state;
	for (size_t i = 0; i < sizeof(over) / sizeof(*over); i++)
		assert_int_equal(target_state_ended(over[i]), over[i]);
}

static void each_state_is_read_in_one_way(void **state)
{
	static const struct {
		enum target_state state;
		bool is_alive, is_undecided;
	} rows[] = {
		{TARGET_NEW, false, false},   {TARGET_UNDECIDED, true, true},
		{TARGET_WANTED, true, false}, {TARGET_LEFT, false, true},
		{TARGET_ENDED, false, false}, {TARGET_REJECTED, false, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct target target = {.state = rows[i].state};

		assert_int_equal(target_is_alive(&target), rows[i].is_alive);
		assert_int_equal(target_is_undecided(&target), rows[i].is_undecided);
	}
}

/* Another job hangs while an inspection runs: that one may finish, but is the last. */
static void after_a_job_that_hung_no_inspection_follows(void **state)
{
	struct target target = {.inspection = INSPECTION_RUNNING};

	(void)state;
	target_set_hung(&target);
	assert_true(target_hangs(&target));
	assert_true(target_is_inspected(&target));
	target.inspection = target_inspection_ended(target.inspection, false);
	assert_int_equal(target.inspection, INSPECTION_HUNG);
	target_set_hung(&target);
	assert_int_equal(target.inspection, INSPECTION_HUNG);
	assert_false(target_is_inspected(&target));
}

static void an_inspection_that_ends_well_may_be_repeated(void **state)
{
	(void)state;
	assert_int_equal(target_inspection_ended(INSPECTION_RUNNING, false), INSPECTION_IDLE);
	assert_int_equal(target_inspection_ended(INSPECTION_RUNNING, true), INSPECTION_HUNG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_ends_undecided_is_still_decided_on),
		cmocka_unit_test(an_end_is_told_once),
		cmocka_unit_test(each_state_is_read_in_one_way),
		cmocka_unit_test(after_a_job_that_hung_no_inspection_follows),
		cmocka_unit_test(an_inspection_that_ends_well_may_be_repeated),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
