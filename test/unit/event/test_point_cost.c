// SPDX-License-Identifier: GPL-2.0-or-later
/* Points at functions of this very program. Without the privilege for these all is skipped. */
#include "unit/lib/unit.h"

#include <sys/resource.h>

#include "capability/uretprobe_check.h"
#include "event/point_cost.h"

/* point_cost.c's own. */
extern const uint8_t point_cost_emulated[], point_cost_stepped[];

static bool session = true;
static struct point_costs costs;

static void measure(bool returns)
{
	int r = point_cost_measure(session, returns, &costs);

	if (r == -EINVAL && session) { /* before 6.13 */
		session = false;
		r = point_cost_measure(session, returns, &costs);
	}
	if (r == -EPERM || r == -EACCES || r == -ENOENT || r == -ENOSYS)
		skip();
	assert_int_equal(r, 0);
}

static void a_hit_takes_time_and_one_that_is_stepped_more(void **state)
{
	(void)state;
	measure(false);
	printf("%d ns, stepped %d ns\n", (int)costs.entry_ns[0], (int)costs.entry_ns[1]);
	assert_true(costs.entry_ns[0] > 50);
#if defined(__x86_64__)
	assert_true(costs.entry_ns[1] > costs.entry_ns[0] + costs.entry_ns[0] / 4);
#endif
}

static void a_return_takes_time_too(void **state)
{
	(void)state;
	if (!costs.entry_ns[0] || uretprobes_are_safe() == 0)
		skip();
	const struct point_costs before = costs;

	measure(true);
	printf("the return %d ns\n", (int)costs.return_ns);
	assert_true(costs.return_ns > 50);
	assert_memory_equal(costs.entry_ns, before.entry_ns, sizeof(before.entry_ns));
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
	struct point_costs known = {{7, 8}, 9};
	struct rlimit before;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	const struct rlimit none = {0, before.rlim_max};

	for (int returns = 0; returns < 2; returns++) {
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
		int r = point_cost_measure(session, returns, &known);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
		assert_true(r < 0);
	}
	assert_int_equal(known.entry_ns[0], 7);
	assert_int_equal(known.entry_ns[1], 8);
	assert_int_equal(known.return_ns, 9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_hit_takes_time_and_one_that_is_stepped_more),
		cmocka_unit_test(a_return_takes_time_too),
		cmocka_unit_test(no_point_is_left),
		cmocka_unit_test(what_cannot_be_measured_leaves_the_figures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
