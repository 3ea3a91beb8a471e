// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/lib/unit.h"

#include "base/clock.h"
#include "loop/retry.h"

static void a_wait_doubles_up_to_the_longest(void **state)
{
	(void)state;
	assert_int_equal(retry_wait(1, 3, 20), 3);
	assert_int_equal(retry_wait(2, 3, 20), 6);
	assert_int_equal(retry_wait(3, 3, 20), 12);
	assert_int_equal(retry_wait(4, 3, 20), 20);
	assert_int_equal(retry_wait(5, 3, 20), 20);
	assert_int_equal(retry_wait(UINT32_MAX, 1, 64), 64);
	assert_int_equal(retry_wait(1, 30, 20), 20);
}

/* Returns how long the process isn't asked after a try that begins now. */
static uint64_t wait_after_try(struct retry *asked, uint64_t now_ns)
{
	assert_true(retry_may_again(asked, now_ns));
	retry_begin(asked, now_ns);
	assert_false(retry_may_again(asked, UINT64_MAX)); /* it is being asked */
	assert_true(retry_goes_on(asked));
	retry_end(asked);
	assert_false(retry_may_again(asked, asked->next_ns - 1));
	return asked->next_ns - now_ns;
}

static void a_process_is_asked_twelve_times(void **state)
{
	struct retry asked = {0};
	uint64_t now_ns = NS_PER_S;

	(void)state;
	for (int i = 0; i < 12; i++) {
		uint64_t wanted_ns = (10 * NS_PER_MS) << (i < 10 ? i : 10);

		assert_true(retry_may(&asked, now_ns));
		assert_true(retry_goes_on(&asked));
		assert_int_equal(wait_after_try(&asked, now_ns), wanted_ns);
		now_ns = asked.next_ns;
	}
	assert_false(retry_may(&asked, UINT64_MAX));
	assert_false(retry_goes_on(&asked));
}

static void who_lacks_a_part_is_asked_for_ever(void **state)
{
	struct retry asked = {0};
	uint64_t now_ns = NS_PER_S, wait_ns = 0;

	(void)state;
	for (int i = 0; i < 100; i++, now_ns += wait_ns)
		wait_ns = wait_after_try(&asked, now_ns);
	assert_int_equal(wait_ns, 10240 * NS_PER_MS);
}

static void another_runtime_is_asked_at_once(void **state)
{
	struct retry asked = {0};
	uint64_t now_ns = NS_PER_S;

	(void)state;
	for (int i = 0; i < 12; i++)
		now_ns += wait_after_try(&asked, now_ns);
	retry_forget(&asked);
	assert_true(retry_may(&asked, 1));
	assert_int_equal(wait_after_try(&asked, 1), 10 * NS_PER_MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wait_doubles_up_to_the_longest),
		cmocka_unit_test(a_process_is_asked_twelve_times),
		cmocka_unit_test(who_lacks_a_part_is_asked_for_ever),
		cmocka_unit_test(another_runtime_is_asked_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
