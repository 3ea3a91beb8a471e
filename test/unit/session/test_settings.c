// SPDX-License-Identifier: GPL-2.0-or-later
/* From a spec's params to settings. */
#include "unit/lib/unit.h"

#include "session/settings.h"

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

static void a_period_is_of_the_frequency_if_there_is_one(void **state)
{
	const struct params by_period = {.perf_sample_period_ms = 20};
	const struct params by_frequency = {.perf_sample_period_ms = 20, .frequency_hz = 1000};

	(void)state;
	assert_int_equal(params_period_ns(&by_period), 20000000);
	assert_int_equal(params_period_ns(&by_frequency), 1000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(details_are_those_of_the_params_with_places),
		cmocka_unit_test(a_period_is_of_the_frequency_if_there_is_one),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
