// SPDX-License-Identifier: GPL-2.0-or-later
/* api/history/anomaly_limits: what a job of the worker reads of the first processes of a list. */
#include "unit/lib/unit.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "api/history/anomaly_limits.h"
#include "loop/loop.h"

#define MOST	 100
#define LIMIT_NS (10 * NS_PER_S)

/* The linker makes it of the function (UNITFLAGS). */
int __real_cgroup_limits_read(pid_t pid, struct cgroup_limits *ret);
int __wrap_cgroup_limits_read(pid_t pid, struct cgroup_limits *ret);

static atomic_int reads;
static atomic_bool is_held; /* a read lasts until it isn't */

int __wrap_cgroup_limits_read(pid_t pid, struct cgroup_limits *ret)
{
	reads++;
	while (is_held)
		usleep(200);
	return __real_cgroup_limits_read(pid, ret);
}

struct scene {
	struct loop *loop;
	struct worker *worker;
	struct loop_timer alarm; /* a test that waits in vain ends */
	struct history_anomaly list[MOST];
	struct history_anomalies anomalies;
	int times_done;
	bool is_known; /* limits were given to done() */
	/* copies of what done() was given */
	size_t looked;
	struct cgroup_limits limits[8];
};

static void alarmed(void *arg)
{
	(void)arg;
	fail_msg("it is never done");
}

static int begin(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));

	assert_non_null(scene);
	reads = 0;
	assert_int_equal(loop_new(&scene->loop), 0);
	scene->anomalies.anomalies = scene->list;
	scene->alarm = (struct loop_timer){.expired = alarmed, .arg = scene, .name = "alarm"};
	*state = scene;
	return 0;
}

static void begin_worker(struct scene *scene, uint64_t limit_ns)
{
	assert_int_equal(worker_new(&scene->worker, scene->loop, "bulk", limit_ns), 0);
	loop_timer_set(scene->loop, &scene->alarm, loop_now_ns() + LIMIT_NS);
}

static int end(void **state)
{
	struct scene *scene = *state;

	loop_timer_cancel(scene->loop, &scene->alarm);
	worker_stop(scene->worker);
	loop_flush(scene->loop);
	worker_free(scene->worker);
	loop_free(scene->loop);
	for (size_t i = 0; i < scene->anomalies.count; i++)
		free(scene->list[i].name);
	for (size_t i = 0; i < scene->looked; i++)
		free(scene->limits[i].path);
	free(scene);
	return 0;
}

static void add_name(struct scene *scene, const char *name)
{
	scene->list[scene->anomalies.count++].name = strdup(name);
}

static void add_pid(struct scene *scene, pid_t pid)
{
	char name[32];

	snprintf(name, sizeof(name), "[%d]process", (int)pid);
	add_name(scene, name);
}

static void limits_read(void *arg, const struct cgroup_limits *limits)
{
	struct scene *scene = arg;

	scene->times_done++;
	scene->is_known = limits;
	for (size_t i = 0; limits && i < scene->looked; i++) {
		scene->limits[i] = limits[i];
		scene->limits[i].path = limits[i].path ? strdup(limits[i].path) : NULL;
	}
	loop_stop(scene->loop);
}

static void read_first(struct scene *scene, size_t top)
{
	assert_int_equal(
		anomaly_limits_read(scene->worker, &scene->anomalies, top, limits_read, scene), 0);
	assert_int_equal(scene->times_done, 0);
	assert_int_equal(loop_run(scene->loop), 0);
	assert_int_equal(scene->times_done, 1);
}

/* As the process itself would be read. */
static void assert_limits(const struct cgroup_limits *found, pid_t pid)
{
	struct cgroup_limits limits = {0};

	if (__real_cgroup_limits_read(pid, &limits) < 0) {
		assert_null(found->path);
		return;
	}
	assert_string_equal(found->path, limits.path);
	assert_true(found->cpus == limits.cpus && found->weight == limits.weight &&
		    found->shares == limits.shares);
	free(limits.path);
}

static pid_t gone_process(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	return pid;
}

static void each_process_has_its_own_limits(void **state)
{
	struct scene *scene = *state;

	add_pid(scene, getpid());
	add_pid(scene, gone_process());
	add_name(scene, "no number");
	add_name(scene, "[7");
	add_pid(scene, getppid());
	add_pid(scene, getpid());
	scene->looked = 6;
	begin_worker(scene, LIMIT_NS);
	read_first(scene, 100);
	assert_true(scene->is_known);
	assert_int_equal(reads, 4); /* who has no number isn't looked for */
	assert_limits(&scene->limits[0], getpid());
	for (int i = 1; i < 4; i++)
		assert_null(scene->limits[i].path);
	assert_limits(&scene->limits[4], getppid());
	assert_limits(&scene->limits[5], getpid());
}

static void no_more_than_the_first_ones_are_read(void **state)
{
	struct scene *scene = *state;

	for (int i = 0; i < MOST; i++)
		add_pid(scene, getpid());
	begin_worker(scene, LIMIT_NS);
	scene->looked = 2;
	read_first(scene, 2);
	assert_true(scene->is_known);
	assert_int_equal(reads, 2);
	assert_limits(&scene->limits[1], getpid());
}

static void of_no_process_there_is_nothing(void **state)
{
	struct scene *scene = *state;

	begin_worker(scene, LIMIT_NS);
	read_first(scene, 50);
	assert_true(scene->is_known);
}

/* The answer doesn't wait for a job that hangs. */
static void what_takes_too_long_is_not_known(void **state)
{
	struct scene *scene = *state;

	add_pid(scene, getpid());
	add_pid(scene, getpid());
	begin_worker(scene, NS_PER_MS);
	is_held = true;
	read_first(scene, 2);
	is_held = false; /* it goes on, and is freed */
	assert_false(scene->is_known);
}

static void a_worker_that_has_stopped_reads_nothing(void **state)
{
	struct scene *scene = *state;

	add_pid(scene, getpid());
	begin_worker(scene, LIMIT_NS);
	worker_stop(scene->worker);
	assert_int_equal(
		anomaly_limits_read(scene->worker, &scene->anomalies, 1, limits_read, scene), 0);
	loop_flush(scene->loop);
	assert_int_equal(scene->times_done, 0);
}

#define SCENE(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCENE(each_process_has_its_own_limits),
		SCENE(no_more_than_the_first_ones_are_read),
		SCENE(of_no_process_there_is_nothing),
		SCENE(what_takes_too_long_is_not_known),
		SCENE(a_worker_that_has_stopped_reads_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
