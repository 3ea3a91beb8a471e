// SPDX-License-Identifier: GPL-2.0-or-later
/* Files whose file system doesn't answer when they are closed. Linked with __wrap_close(). */
#include "unit/lib/unit.h"

#include <fcntl.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "loop/close_job.h"

#define LIMIT_NS (20 * NS_PER_MS)
#define FILES	 (WORKER_HANGING_OF_ONE_MAX + 4)
#define USERS	 (WORKER_HANGING_MAX / WORKER_HANGING_OF_ONE_MAX + 1)

int __real_close(int fd);
int __wrap_close(int fd);

static dev_t hanging_device;
static ino_t hanging_inode; /* a close of that file waits for a post */
static sem_t answer;
static atomic_int begun, closed_count;

int __wrap_close(int fd)
{
	struct stat stat;

	if (hanging_inode && fstat(fd, &stat) == 0 && stat.st_ino == hanging_inode &&
	    stat.st_dev == hanging_device) {
		atomic_fetch_add(&begun, 1);
		sem_wait(&answer);
	}
	return __real_close(fd);
}

struct scene {
	struct loop *loop;
	struct worker *worker;
	struct loop_timer tick;
	int file; /* that hangs */
};

static void stop_loop(void *arg)
{
	loop_stop(arg);
}

static void scene_make(struct scene *scene)
{
	struct stat stat;

	atomic_store(&begun, 0);
	atomic_store(&closed_count, 0);
	sem_init(&answer, 0, 0);
	*scene = (struct scene){.file = memfd_create("hangs", MFD_CLOEXEC)};
	assert_int_equal(fstat(scene->file, &stat), 0);
	hanging_device = stat.st_dev;
	hanging_inode = stat.st_ino;
	assert_int_equal(loop_new(&scene->loop), 0);
	assert_int_equal(worker_new(&scene->worker, scene->loop, "test", LIMIT_NS), 0);
	scene->tick = (struct loop_timer){.expired = stop_loop, .arg = scene->loop};
}

static void answer_all(void)
{
	for (int i = 0; i < FILES * USERS; i++)
		sem_post(&answer);
}

/* The loop runs until so many were closed, and nothing takes its time. */
static void run_until(struct scene *scene, const atomic_int *count, int wanted)
{
	for (int i = 0; i < 2000 && atomic_load(count) < wanted; i++) {
		uint64_t before_ns = loop_now_ns();

		loop_timer_set(scene->loop, &scene->tick, before_ns + 5 * NS_PER_MS);
		assert_int_equal(loop_run(scene->loop), 0);
		assert_true(loop_now_ns() - before_ns < 5 * NS_PER_S);
	}
	assert_int_equal(atomic_load(count), wanted);
}

static void scene_done(struct scene *scene)
{
	worker_stop(scene->worker);
	worker_free(scene->worker);
	loop_free(scene->loop);
	answer_all();
	__real_close(scene->file);
}

static void closed(void)
{
	atomic_fetch_add(&closed_count, 1);
}

static void close_hanging(struct scene *scene, uid_t uid)
{
	int fd = fcntl(scene->file, F_DUPFD_CLOEXEC, 0);

	assert_true(fd >= 0);
	close_later(scene->worker, job_of(uid, 0), &fd, 1, closed);
}

static void close_good(struct scene *scene, uid_t uid)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	close_later(scene->worker, job_of(uid, 0), &fd, 1, closed);
}

static void a_user_whose_closings_hang_keeps_neither_the_loop_nor_others(void **state)
{
	struct scene scene;

	(void)state;
	scene_make(&scene);
	for (int i = 0; i < FILES; i++)
		close_hanging(&scene, 1);
	run_until(&scene, &begun, WORKER_HANGING_OF_ONE_MAX);
	close_good(&scene, 2);
	run_until(&scene, &closed_count, 1);
	assert_int_equal(begun, WORKER_HANGING_OF_ONE_MAX);
	answer_all();
	run_until(&scene, &closed_count, 1 + FILES); /* the others had only to wait */
	assert_int_equal(worker_refused(scene.worker), 0);
	scene_done(&scene);
}

static void where_all_threads_hang_closings_wait_until_one_returns(void **state)
{
	struct scene scene;

	(void)state;
	scene_make(&scene);
	for (int uid = 1; uid <= USERS; uid++) {
		for (int i = 0; i < FILES; i++)
			close_hanging(&scene, (uid_t)uid);
	}
	run_until(&scene, &begun, WORKER_HANGING_MAX);
	close_good(&scene, USERS + 1);
	run_until(&scene, &closed_count, 0);
	answer_all();
	run_until(&scene, &closed_count, 1 + USERS * FILES);
	scene_done(&scene);
}

static void pass(void *arg)
{
	atomic_fetch_add((atomic_int *)arg, 1);
}

static void a_fence_does_not_wait_for_closings(void **state)
{
	struct scene scene;
	atomic_int passed = 0;

	(void)state;
	scene_make(&scene);
	for (int i = 0; i < FILES; i++)
		close_hanging(&scene, 1);
	run_until(&scene, &begun, WORKER_HANGING_OF_ONE_MAX);
	assert_int_equal(worker_fence(scene.worker, NULL, pass, &passed), 0);
	run_until(&scene, &passed, 1);
	assert_int_equal(closed_count, 0);
	answer_all();
	run_until(&scene, &closed_count, FILES);
	scene_done(&scene);
}

static void a_worker_that_stops_closes_nothing_that_may_hang(void **state)
{
	struct scene scene;

	(void)state;
	scene_make(&scene);
	for (int i = 0; i < FILES; i++)
		close_hanging(&scene, 1);
	run_until(&scene, &begun, WORKER_HANGING_OF_ONE_MAX);
	worker_stop(scene.worker);
	close_hanging(&scene, 1);
	assert_int_equal(begun, WORKER_HANGING_OF_ONE_MAX);
	answer_all();
	for (int i = 0; i < 2000 && closed_count < WORKER_HANGING_OF_ONE_MAX; i++)
		usleep(1000);
	assert_int_equal(closed_count, WORKER_HANGING_OF_ONE_MAX);
	scene_done(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_user_whose_closings_hang_keeps_neither_the_loop_nor_others),
		cmocka_unit_test(where_all_threads_hang_closings_wait_until_one_returns),
		cmocka_unit_test(a_fence_does_not_wait_for_closings),
		cmocka_unit_test(a_worker_that_stops_closes_nothing_that_may_hang),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
