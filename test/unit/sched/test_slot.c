// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/lib/unit.h"

#include "bpf/shared/hist_slot.h"

static void each_slot_begins_at_a_power_of_two_of_microseconds(void **state)
{
	(void)state;
	assert_int_equal(hist_slot(0), 0);
	assert_int_equal(hist_slot(999), 0);
	for (uint32_t k = 0; k < HIST_SLOTS - 1; k++) {
		uint64_t begin_ns = 1000ULL << k;

		assert_int_equal(hist_slot(begin_ns - 1), k);
		assert_int_equal(hist_slot(begin_ns), k + 1);
	}
}

static void the_last_slot_has_no_end(void **state)
{
	(void)state;
	assert_int_equal(hist_slot(1000ULL << (HIST_SLOTS - 2)), HIST_SLOTS - 1);
	assert_int_equal(hist_slot(1000ULL << (HIST_SLOTS - 1)), HIST_SLOTS - 1);
	assert_int_equal(hist_slot(UINT64_MAX), HIST_SLOTS - 1);
}

static void cells_of_a_scale_have_one_width(void **state)
{
	const struct hist_scale linear = {.unit_ns = 5000},
				powers = {.unit_ns = 1000000, .powers = 1};

	(void)state;
	assert_int_equal(scaled_cell(&linear, 4999), 0);
	assert_int_equal(scaled_cell(&linear, 5000), 1);
	assert_int_equal(scaled_cell(&linear, 5000ULL * 1000000), 1000000);
	assert_int_equal(scaled_cell(&powers, 999999), 0);
	assert_int_equal(scaled_cell(&powers, 1000000), 1);
	assert_int_equal(scaled_cell(&powers, 4000000), 3);
	assert_int_equal(scaled_cell(&powers, UINT64_MAX), 32);
	assert_int_equal(scaled_cell(&(struct hist_scale){0}, 7), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_slot_begins_at_a_power_of_two_of_microseconds),
		cmocka_unit_test(the_last_slot_has_no_end),
		cmocka_unit_test(cells_of_a_scale_have_one_width),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
