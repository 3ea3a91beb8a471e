// SPDX-License-Identifier: GPL-2.0-or-later
/* Points at functions of this very program. Without the privilege for these all is skipped. */
#include "unit/lib/unit.h"

#include <sys/resource.h>

#include "capability/uretprobe_check.h"
#include "event/point_cost.h"

/* point_cost.c's own. */
extern const uint8_t point_cost_emulated[], point_cost_stepped[];

static bool session = true;
static uint64_t entry_ns[2], both_ns[2];

static void measure(bool both, uint64_t *costs_ns)
{
	int r = point_cost_measure(session, both, costs_ns);

	if (r == -EINVAL && session) { /* before 6.13 */
		session = false;
		r = point_cost_measure(session, both, costs_ns);
	}
	if (r == -EPERM || r == -EACCES || r == -ENOENT || r == -ENOSYS)
		skip();
	assert_int_equal(r, 0);
}

static void a_hit_takes_time_and_one_that_is_stepped_more(void **state)
{
	(void)state;
	measure(false, entry_ns);
	printf("%d ns, stepped %d ns\n", (int)entry_ns[0], (int)entry_ns[1]);
	assert_true(entry_ns[0] > 50);
#if defined(__x86_64__)
	assert_true(entry_ns[1] > entry_ns[0] + entry_ns[0] / 4);
#endif
}

static void both_ends_take_more_than_one(void **state)
{
	(void)state;
	if (!entry_ns[0] || uretprobes_are_safe() == 0)
		skip();
	measure(true, both_ns);
	printf("with the return %d ns, stepped %d ns\n", (int)both_ns[0], (int)both_ns[1]);
	assert_true(both_ns[0] > entry_ns[0]);
	assert_true(both_ns[1] > entry_ns[1]);
}

/* Of a point that is left the first byte is a breakpoint's. */
static void no_point_is_left(void **state)
{
	(void)state;
#if defined(__x86_64__)
	assert_int_equal(point_cost_emulated[0], 0x55); /* push */
	assert_int_equal(point_cost_stepped[0], 0x48);	/* mov */
#endif
}

static void what_cannot_be_measured_leaves_the_figures(void **state)
{
	uint64_t costs_ns[2] = {7, 8};
	struct rlimit before, limit;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	limit = (struct rlimit){0, before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	int r = point_cost_measure(session, false, costs_ns);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_true(r < 0);
	assert_int_equal(costs_ns[0], 7);
	assert_int_equal(costs_ns[1], 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_hit_takes_time_and_one_that_is_stepped_more),
		cmocka_unit_test(both_ends_take_more_than_one),
		cmocka_unit_test(no_point_is_left),
		cmocka_unit_test(what_cannot_be_measured_leaves_the_figures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
