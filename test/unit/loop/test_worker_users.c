// SPDX-License-Identifier: GPL-2.0-or-later
/* Users whose jobs share a worker: how many threads each may take, and whose turn it is. */
#include "unit/loop/worker_scene.h"

static void submit_in(struct scene *scene, uid_t uid, uint32_t root, char letter, sem_t *wait)
{
	struct task *task = new_task(scene, letter, wait);

	task->job.whose = job_of(uid, root);
	worker_submit(scene->worker, &task->job);
}

static void submit_of(struct scene *scene, uid_t uid, char letter, sem_t *wait)
{
	submit_in(scene, uid, 0, letter, wait);
}

static void a_user_with_too_many_hanging_jobs_is_refused_and_nobody_else(void **state)
{
	char expected[WORKER_HANGING_OF_ONE_MAX + 8] = "";
	struct scene scene;
	sem_t never;

	(void)state;
	sem_init(&never, 0, 0);
	scene_make(&scene, 20 * NS_PER_MS);
	for (int i = 0; i < WORKER_HANGING_OF_ONE_MAX; i++)
		submit_of(&scene, 1, 'h', &never);
	memset(expected, 'H', WORKER_HANGING_OF_ONE_MAX);
	run_until(&scene, WORKER_HANGING_OF_ONE_MAX, expected);
	submit_of(&scene, 1, 'y', NULL);
	run_until(&scene, WORKER_HANGING_OF_ONE_MAX + 1, strcat(expected, "Y"));
	submit_of(&scene, 2, 'a', NULL);
	run_until(&scene, WORKER_HANGING_OF_ONE_MAX + 2, strcat(expected, "a"));
	submit(&scene, 'b', NULL, false);
	run_until(&scene, WORKER_HANGING_OF_ONE_MAX + 3, strcat(expected, "b"));
	assert_int_equal(worker_refused(scene.worker), 1);
	assert_int_equal(worker_given_up(scene.worker), WORKER_HANGING_OF_ONE_MAX);
	sem_post(&never);
	wait_for(&freed, 4); /* y, a, b and the one that returned */
	submit_of(&scene, 1, 'v', NULL);
	run_until(&scene, WORKER_HANGING_OF_ONE_MAX + 4, strcat(expected, "v"));
	for (int i = 0; i < WORKER_HANGING_OF_ONE_MAX - 1; i++)
		sem_post(&never);
	wait_for(&freed, WORKER_HANGING_OF_ONE_MAX + 4);
	scene_done(&scene);
	sem_destroy(&never);
}

/* Of one user in many roots so many hang. */
static void hang_in_roots(struct scene *scene, uid_t uid, unsigned max, sem_t *never)
{
	char expected[WORKER_HANGING_MAX + 8] = "";

	for (uint32_t root = 1; root <= max / WORKER_HANGING_OF_ONE_MAX; root++) {
		for (int i = 0; i < WORKER_HANGING_OF_ONE_MAX; i++)
			submit_in(scene, uid, root, 'h', never);
	}
	memset(expected, 'H', max);
	run_until(scene, max, expected);
	submit_in(scene, uid, 100, 'y', NULL);
	run_until(scene, max + 1, strcat(expected, "Y"));
	assert_int_equal(worker_refused(scene->worker), 1);
	submit_in(scene, 2, 1, 'a', NULL);
	run_until(scene, max + 2, strcat(expected, "a"));
	submit_of(scene, 0, 'b', NULL); /* the host's root */
	run_until(scene, max + 3, strcat(expected, "b"));
	for (unsigned i = 0; i < max; i++)
		sem_post(never);
	wait_for(&freed, (int)max + 3);
}

static void a_user_in_many_roots_has_a_part_of_all_threads(void **state)
{
	struct scene scene;
	sem_t never;

	(void)state;
	sem_init(&never, 0, 0);
	scene_make(&scene, 20 * NS_PER_MS);
	hang_in_roots(&scene, 1, WORKER_THREADS_OF_USER_MAX, &never);
	scene_done(&scene);
	scene_make(&scene, 20 * NS_PER_MS);
	hang_in_roots(&scene, 0, WORKER_THREADS_OF_ROOT_MAX, &never);
	scene_done(&scene);
	sem_destroy(&never);
}

static void a_users_jobs_in_many_roots_take_a_part_of_the_threads_aside(void **state)
{
	struct scene scene;
	sem_t slow;

	(void)state;
	sem_init(&slow, 0, 0);
	scene_make(&scene, 60 * NS_PER_S);
	for (uint32_t root = 1; root <= WORKER_THREADS_OF_USER_MAX + 1; root++)
		submit_in(&scene, 1, root, 's', &slow);
	wait_for(&begun, 1);
	/* The loop puts them aside, one after the other; each time there are others that wait. */
	scene.end = 1;
	loop_timer_set(scene.loop, &scene.alarm,
		       loop_now_ns() + (WORKER_THREADS_OF_USER_MAX + 4) * WORKER_ASIDE_NS);
	assert_int_equal(loop_run(scene.loop), 0);
	assert_int_equal(begun, WORKER_THREADS_OF_USER_MAX);
	submit_of(&scene, 2, 'a', NULL);
	run_until(&scene, 1, "a");
	for (int i = 0; i <= WORKER_THREADS_OF_USER_MAX; i++)
		sem_post(&slow);
	wait_for(&begun, WORKER_THREADS_OF_USER_MAX + 2);
	run_until(&scene, WORKER_THREADS_OF_USER_MAX + 2, "asssssssssssssssss");
	scene_done(&scene);
	sem_destroy(&slow);
}

static void users_of_one_number_in_two_roots_are_two(void **state)
{
	(void)state;
	assert_true(job_of(1000, 5) != job_of(1000, 7));
	assert_true(job_of(1000, 5) != job_of(1000, 0));
	assert_true(job_of(0, 0) != JOB_OWN);
	assert_int_equal(job_user(job_of(1000, 5)), 1000);
	assert_int_equal(job_user(job_of((uid_t)-1, 0x7fffffff)), (uid_t)-1);
}

static void a_users_long_job_is_put_aside_for_others_and_its_next_ones_wait(void **state)
{
	struct scene scene;
	sem_t slow;

	(void)state;
	sem_init(&slow, 0, 0);
	scene_make(&scene, 10 * NS_PER_S);
	submit_of(&scene, 1, 's', &slow);
	wait_for(&begun, 1);
	submit_of(&scene, 1, 't', NULL);
	submit_of(&scene, 2, 'a', NULL);
	submit(&scene, 'b', NULL, false);
	run_until(&scene, 2, "ab");
	assert_int_equal(begun, 3);
	sem_post(&slow);
	run_until(&scene, 4, "abst");
	assert_int_equal(worker_given_up(scene.worker), 0);
	scene_done(&scene);
	sem_destroy(&slow);
}

static void a_job_aside_that_hangs_is_given_up_and_its_users_next_ones_run(void **state)
{
	struct scene scene;
	sem_t never;

	(void)state;
	sem_init(&never, 0, 0);
	scene_make(&scene, 2 * WORKER_ASIDE_NS);
	submit_of(&scene, 1, 'h', &never);
	submit_of(&scene, 1, 'i', NULL);
	submit_of(&scene, 2, 'a', NULL);
	run_until(&scene, 3, "aHi");
	sem_post(&never);
	wait_for(&freed, 3);
	scene_done(&scene);
	sem_destroy(&never);
}

static void sleep_a_while(struct job *job)
{
	usleep(20000);
	task_run(job);
}

static void who_has_had_least_is_next(void **state)
{
	struct scene scene;
	sem_t gate;

	(void)state;
	sem_init(&gate, 0, 0);
	scene_make(&scene, 10 * NS_PER_S);
	submit(&scene, 'g', &gate, false);
	wait_for(&begun, 1);
	for (char letter = 's'; letter <= 'u'; letter++) {
		struct task *task = new_task(&scene, letter, NULL);

		task->job.run = sleep_a_while;
		task->job.whose = job_of(1, 0);
		worker_submit(scene.worker, &task->job);
	}
	submit_of(&scene, 2, 'a', NULL);
	submit_of(&scene, 2, 'b', NULL);
	sem_post(&gate);
	run_until(&scene, 6, "gsabtu");
	scene_done(&scene);
	sem_destroy(&gate);
}

static unsigned asked;

static bool has_waited(void *arg)
{
	(void)arg;
	return ++asked == 3;
}

static void a_fence_that_has_waited_enough_is_passed(void **state)
{
	struct scene scene;
	sem_t slow;

	(void)state;
	sem_init(&slow, 0, 0);
	scene_make(&scene, 10 * NS_PER_S);
	submit(&scene, 's', &slow, false);
	assert_int_equal(worker_fence(scene.worker, has_waited, pass, &scene), 0);
	run_until(&scene, 1, "|");
	sem_post(&slow);
	run_until(&scene, 2, "|s");
	scene_done(&scene);
	sem_destroy(&slow);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_user_with_too_many_hanging_jobs_is_refused_and_nobody_else),
		cmocka_unit_test(a_user_in_many_roots_has_a_part_of_all_threads),
		cmocka_unit_test(a_users_jobs_in_many_roots_take_a_part_of_the_threads_aside),
		cmocka_unit_test(users_of_one_number_in_two_roots_are_two),
		cmocka_unit_test(a_users_long_job_is_put_aside_for_others_and_its_next_ones_wait),
		cmocka_unit_test(a_job_aside_that_hangs_is_given_up_and_its_users_next_ones_run),
		cmocka_unit_test(who_has_had_least_is_next),
		cmocka_unit_test(a_fence_that_has_waited_enough_is_passed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
