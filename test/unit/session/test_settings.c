// SPDX-License-Identifier: GPL-2.0-or-later
/* From a spec's params to settings. */
#include "unit/lib/unit.h"

#include "session/settings.h"

#define STATES_ALL (1u << WAIT_RUNNABLE | 1u << WAIT_SLEEP | 1u << WAIT_DISK | 1u << WAIT_OTHER)

static void details_are_those_of_the_params_with_places(void **state)
{
	const struct params params = {.thread_frame = 1, .frame_detail = FRAME_DETAIL_SIGNATURE};
	struct stack_detail detail;

	(void)state;
	params_detail(&params, &detail);
	assert_true(detail.thread_frame);
	assert_false(detail.native_stack);
	assert_int_equal(detail.frames, FRAME_DETAIL_SIGNATURE);
	assert_true(detail.places);
	assert_false(detail.without_kernel);
}

static void waits_are_told_in_nanoseconds_and_states(void **state)
{
	struct params params = {
		.minblock_us = 50, .maxblock_us = 3000000, .offcpu_depth = 12, .offcpu_split = 1};
	struct offcpu_settings settings;

	(void)state;
	params_offcpu(&params, &settings);
	assert_int_equal(settings.minblock_ns, 50000);
	assert_int_equal(settings.maxblock_ns, 3000000000U);
	assert_int_equal(settings.depth, 12);
	assert_true(settings.split);
	assert_int_equal(settings.states, 1u << WAIT_SLEEP | 1u << WAIT_DISK);
	params.offcpu_state = OFFCPU_D;
	params_offcpu(&params, &settings);
	assert_int_equal(settings.states, 1u << WAIT_DISK);
	params.offcpu_state = OFFCPU_ALL;
	params_offcpu(&params, &settings);
	assert_int_equal(settings.states, STATES_ALL);
}

static void a_wait_too_long_for_nanoseconds_is_the_longest_one(void **state)
{
	const struct params params = {.maxblock_us = INT64_MAX, .minblock_us = INT64_MAX / 1000};
	struct offcpu_settings settings;

	(void)state;
	params_offcpu(&params, &settings);
	assert_true(settings.maxblock_ns == UINT64_MAX);
	assert_true(settings.minblock_ns == (uint64_t)(INT64_MAX / 1000) * 1000);
}

static void memory_is_told_in_bytes(void **state)
{
	const struct params params = {.mem_fault_bytes = 4096, .mem_sample_bytes = 1LL << 32};
	struct memory_settings settings;

	(void)state;
	params_memory(&params, &settings);
	assert_int_equal(settings.fault_bytes, 4096);
	assert_int_equal(settings.sample_bytes, 1ULL << 32);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(details_are_those_of_the_params_with_places),
		cmocka_unit_test(waits_are_told_in_nanoseconds_and_states),
		cmocka_unit_test(a_wait_too_long_for_nanoseconds_is_the_longest_one),
		cmocka_unit_test(memory_is_told_in_bytes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
