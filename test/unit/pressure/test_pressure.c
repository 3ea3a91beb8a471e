// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Waiting for pressure: by the kernel's trigger, or by looking where that is refused; what ends it.
 * The kernel's files are made up.
 *
 * The linker turns our objects' calls into those below (UNITFLAGS).
 */
#include "unit/lib/unit.h"

#include <sys/socket.h>

#include "pressure/pressure.h"
#include "pressure/pressure_file.h"

int __wrap_pressure_file_open(const struct pressure_text *text, struct why *why);
int __wrap_pressure_file_arm(const struct pressure_text *text, struct why *why);
int __wrap_pressure_file_read(int fd, const struct pressure_text *text, uint64_t *total_us,
			      struct why *why);

/* The kernel's side. */
static struct {
	int open_error, arm_error, read_error;
	uint64_t total_us, grows_us; /* with each reading */
	int ends[2];		     /* of what stands for the kernel's trigger */
	unsigned reads;
} kernel;

int __wrap_pressure_file_open(const struct pressure_text *text, struct why *why)
{
	(void)text;
	why_set(why, "it can't be opened");
	return kernel.open_error ? kernel.open_error : dup(STDERR_FILENO);
}

int __wrap_pressure_file_arm(const struct pressure_text *text, struct why *why)
{
	(void)text;
	why_set(why, "it is refused");
	return kernel.arm_error ? kernel.arm_error : dup(kernel.ends[0]);
}

int __wrap_pressure_file_read(int fd, const struct pressure_text *text, uint64_t *total_us,
			      struct why *why)
{
	(void)text;
	assert_true(fd >= 0);
	kernel.reads++;
	kernel.total_us += kernel.grows_us;
	*total_us = kernel.total_us;
	why_set(why, "it was removed");
	return kernel.read_error;
}

/* Who waits. */
struct waiter {
	struct loop *loop;
	struct pressure *pressure;
	unsigned risen, ended;
	int error;
	struct why why;
};

static void note_risen(void *arg)
{
	struct waiter *waiter = arg;

	waiter->risen++;
	pressure_close(TAKE_PTR(waiter->pressure));
	loop_stop(waiter->loop);
}

static void note_ended(void *arg, int error, const struct why *why)
{
	struct waiter *waiter = arg;

	waiter->ended++;
	waiter->error = error;
	waiter->why = *why;
	loop_stop(waiter->loop);
}

static int begin_waiting(struct waiter *waiter, struct why *why)
{
	struct pressure_wish wish = {.text = {PRESSURE_ON_CPU, false, 300000, 500000, ""},
				     .risen = note_risen,
				     .ended = note_ended,
				     .arg = waiter};

	return pressure_open(&waiter->pressure, waiter->loop, &wish, why);
}

static int waiter_begin(void **state)
{
	struct waiter *waiter = calloc(1, sizeof(*waiter));

	memset(&kernel, 0, sizeof(kernel));
	assert_non_null(waiter);
	assert_int_equal(loop_new(&waiter->loop), 0);
	*state = waiter;
	return 0;
}

static int waiter_end(void **state)
{
	struct waiter *waiter = *state;

	pressure_close(waiter->pressure);
	loop_free(waiter->loop);
	free(waiter);
	return 0;
}

static void refuse_trigger(void)
{
	kernel.arm_error = -EPERM;
}

static void where_the_kernel_refuses_it_looks_and_says_so(void **state)
{
	struct waiter *waiter = *state;
	const char *not_kernel;
	struct why why;

	refuse_trigger();
	kernel.grows_us = 400000; /* a look may be late */
	assert_int_equal(begin_waiting(waiter, &why), 0);
	assert_false(pressure_is_kernels(waiter->pressure, &not_kernel));
	assert_string_equal(not_kernel, "it is refused");
	assert_int_equal(loop_run(waiter->loop), 0);
	assert_int_equal(waiter->risen, 1);
	assert_int_equal(waiter->ended, 0);
}

static void stop_loop(void *arg)
{
	loop_stop(arg);
}

static void too_little_pressure_is_looked_at_on_and_on(void **state)
{
	struct waiter *waiter = *state;
	struct loop_timer timer = {.expired = stop_loop, .arg = waiter->loop};
	struct why why;

	refuse_trigger();
	kernel.grows_us = 1000;
	assert_int_equal(begin_waiting(waiter, &why), 0);
	while (kernel.reads < 3) {
		loop_timer_set(waiter->loop, &timer, loop_now_ns() + 50 * NS_PER_MS);
		assert_int_equal(loop_run(waiter->loop), 0);
	}
	assert_int_equal(waiter->risen, 0);
	assert_int_equal(waiter->ended, 0);
}

static void a_file_that_can_not_be_read_any_more_ends_the_looking(void **state)
{
	struct waiter *waiter = *state;
	struct why why;

	refuse_trigger();
	assert_int_equal(begin_waiting(waiter, &why), 0);
	kernel.read_error = -ENODEV;
	assert_int_equal(loop_run(waiter->loop), 0);
	assert_int_equal(waiter->ended, 1);
	assert_int_equal(waiter->error, -ENODEV);
	assert_string_equal(waiter->why.text, "it was removed");
	assert_int_equal(waiter->risen, 0);
}

/* Has the kernel's trigger fire; it doesn't stop to. */
static void fire_trigger(void)
{
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, kernel.ends) < 0)
		fail();
	if (send(kernel.ends[1], "x", 1, MSG_OOB) < 0)
		skip(); /* before Linux 5.15 */
}

static void the_kernel_tells_by_an_urgent_event(void **state)
{
	struct waiter *waiter = *state;
	const char *not_kernel;
	struct why why;

	fire_trigger();
	kernel.grows_us = 300000;
	assert_int_equal(begin_waiting(waiter, &why), 0);
	assert_true(pressure_is_kernels(waiter->pressure, &not_kernel));
	assert_string_equal(not_kernel, "");
	assert_int_equal(loop_run(waiter->loop), 0);
	assert_int_equal(waiter->risen, 1);
	assert_int_equal(kernel.reads, 2);
	close(kernel.ends[0]);
	close(kernel.ends[1]);
}

/* Linux 6.5 and later, without CAP_SYS_RESOURCE: the first window begins at 0. */
static void a_trigger_that_fires_without_pressure_is_not_believed(void **state)
{
	struct waiter *waiter = *state;
	struct loop_timer timer = {.expired = stop_loop, .arg = waiter->loop};
	struct why why;

	fire_trigger();
	assert_int_equal(begin_waiting(waiter, &why), 0);
	loop_timer_set(waiter->loop, &timer, loop_now_ns() + 20 * NS_PER_MS);
	assert_int_equal(loop_run(waiter->loop), 0);
	assert_true(kernel.reads > 2);
	assert_int_equal(waiter->risen, 0);
	kernel.total_us += 300000; /* then it comes */
	assert_int_equal(loop_run(waiter->loop), 0);
	assert_int_equal(waiter->risen, 1);
	close(kernel.ends[0]);
	close(kernel.ends[1]);
}

/* After some windows without an event nobody looks any more; what came since is of the last window.
 */
static void a_trigger_that_was_silent_is_relied_on(void **state)
{
	struct waiter *waiter = *state;
	struct loop_timer timer = {.expired = stop_loop, .arg = waiter->loop};
	struct why why;
	unsigned reads;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, kernel.ends) < 0)
		fail();
	assert_int_equal(begin_waiting(waiter, &why), 0);
	do {
		reads = kernel.reads;
		loop_timer_set(waiter->loop, &timer, loop_now_ns() + 800 * NS_PER_MS);
		assert_int_equal(loop_run(waiter->loop), 0);
	} while (kernel.reads > reads);
	assert_int_equal(waiter->risen, 0);
	if (send(kernel.ends[1], "x", 1, MSG_OOB) < 0)
		skip(); /* before Linux 5.15 */
	kernel.total_us += 300000;
	assert_int_equal(loop_run(waiter->loop), 0);
	assert_int_equal(waiter->risen, 1);
	close(kernel.ends[0]);
	close(kernel.ends[1]);
}

/* A pipe that nobody reads is in an error, as a trigger whose cgroup was removed. */
static void an_error_of_the_kernels_trigger_ends_it_once(void **state)
{
	struct waiter *waiter = *state;
	struct loop_timer timer = {.expired = stop_loop, .arg = waiter->loop};
	struct why why;
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	kernel.ends[0] = ends[1];
	assert_int_equal(begin_waiting(waiter, &why), 0);
	close(ends[1]);
	close(ends[0]);
	kernel.read_error = -ENODEV;
	assert_int_equal(loop_run(waiter->loop), 0);
	assert_int_equal(waiter->ended, 1);
	assert_int_equal(waiter->error, -ENODEV);
	loop_timer_set(waiter->loop, &timer, loop_now_ns());
	assert_int_equal(loop_run(waiter->loop), 0);
	assert_int_equal(waiter->ended, 1);
	assert_int_equal(waiter->risen, 0);
}

static void what_can_not_be_opened_is_said(void **state)
{
	struct waiter *waiter = *state;
	struct why why;

	kernel.open_error = -EOPNOTSUPP;
	assert_int_equal(begin_waiting(waiter, &why), -EOPNOTSUPP);
	assert_string_equal(why.text, "it can't be opened");
	assert_null(waiter->pressure);
	kernel.open_error = 0;
	kernel.read_error = -EOPNOTSUPP;
	assert_int_equal(begin_waiting(waiter, &why), -EOPNOTSUPP);
	assert_string_equal(why.text, "it was removed");
	assert_null(waiter->pressure);
}

#define WAITER(test) cmocka_unit_test_setup_teardown(test, waiter_begin, waiter_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WAITER(where_the_kernel_refuses_it_looks_and_says_so),
		WAITER(too_little_pressure_is_looked_at_on_and_on),
		WAITER(a_file_that_can_not_be_read_any_more_ends_the_looking),
		WAITER(the_kernel_tells_by_an_urgent_event),
		WAITER(a_trigger_that_fires_without_pressure_is_not_believed),
		WAITER(a_trigger_that_was_silent_is_relied_on),
		WAITER(an_error_of_the_kernels_trigger_ends_it_once),
		WAITER(what_can_not_be_opened_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
