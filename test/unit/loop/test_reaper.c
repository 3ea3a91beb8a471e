// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/lib/unit.h"

#include <signal.h>
#include <sys/wait.h>

#include "loop/reaper.h"

static pid_t stopped_child(void)
{
	pid_t child = fork();

	if (child == 0) {
		pause();
		_exit(0);
	}
	assert_true(child > 0);
	kill(child, SIGSTOP);
	return child;
}

static void bury_until(unsigned left)
{
	for (int i = 0; i < 5000 && reaper_bury() > left; i++)
		usleep(1000);
	assert_int_equal(reaper_bury(), left);
}

static void who_does_not_end_is_buried_when_it_has_ended(void **state)
{
	pid_t first = stopped_child(), second = stopped_child();

	(void)state;
	reaper_leave(first);
	reaper_leave(second);
	assert_int_equal(reaper_bury(), 2);
	kill(second, SIGKILL);
	bury_until(1);
	assert_int_equal(kill(first, 0), 0);
	kill(first, SIGKILL);
	bury_until(0);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
}

static void while_many_are_left_there_is_no_room_for_more(void **state)
{
	pid_t children[REAPER_LEFT_MAX + 1];

	(void)state;
	for (int i = 0; i < REAPER_LEFT_MAX; i++) {
		assert_true(reaper_has_room());
		reaper_leave(children[i] = stopped_child());
	}
	assert_false(reaper_has_room());
	reaper_leave(children[REAPER_LEFT_MAX] = stopped_child()); /* it was on its way */
	for (int i = 0; i <= REAPER_LEFT_MAX; i++)
		kill(children[i], SIGKILL);
	bury_until(0);
	assert_true(reaper_has_room());
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_does_not_end_is_buried_when_it_has_ended),
		cmocka_unit_test(while_many_are_left_there_is_no_room_for_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
