// SPDX-License-Identifier: GPL-2.0-or-later
/* Without the privilege for uprobes all is skipped. */
#include "unit/lib/unit.h"

#include <sys/syscall.h>

#include "capability/uretprobe_check.h"

static void a_child_whose_call_is_forbidden_is_ended(void **state)
{
	int r = uretprobe_check_try(SYS_getppid);

	(void)state;
	if (r < 0)
		skip();
	assert_int_equal(r, 0);
}

static void a_child_whose_calls_are_allowed_lives(void **state)
{
	int r = uretprobe_check_try(SYS_reboot);

	(void)state;
	if (r < 0)
		skip();
	assert_int_equal(r, 1);
}

/* What is known of a kernel stays so. */
static void returns_are_tried_once(void **state)
{
	int r = uretprobes_are_safe();

	(void)state;
	printf("probed returns in a sandbox: %d\n", r);
	assert_int_equal(uretprobes_are_safe(), r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_child_whose_call_is_forbidden_is_ended),
		cmocka_unit_test(a_child_whose_calls_are_allowed_lives),
		cmocka_unit_test(returns_are_tried_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
