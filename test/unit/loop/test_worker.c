// SPDX-License-Identifier: GPL-2.0-or-later
/* A worker's jobs: order, limits of time, fences, its end. */
#include "unit/loop/worker_scene.h"

static void jobs_run_in_the_order_of_submission(void **state)
{
	struct scene scene;

	(void)state;
	scene_make(&scene, LIMIT_NS);
	for (char c = 'a'; c <= 'z'; c++)
		submit(&scene, c, NULL, false);
	run_until(&scene, 26, "abcdefghijklmnopqrstuvwxyz");
	wait_for(&freed, 26);
	assert_int_equal(worker_given_up(scene.worker), 0);
	scene_done(&scene);
}

static void done_is_never_called_inside_submit(void **state)
{
	struct scene scene;

	(void)state;
	scene_make(&scene, LIMIT_NS);
	submit(&scene, 'a', NULL, false);
	wait_for(&begun, 1);
	usleep(2000);
	assert_int_equal(scene.len, 0);
	run_until(&scene, 1, "a");
	scene_done(&scene);
}

static void end_slowly(struct job *job, bool finished)
{
	usleep(3000);
	task_done(job, finished);
}

static void the_end_of_a_job_counts_under_its_workers_name(void **state)
{
	struct scene scene;

	(void)state;
	scene_make(&scene, NS_PER_S);
	struct task *task = new_task(&scene, 'a', NULL);
	task->job.done = end_slowly;
	worker_submit(scene.worker, &task->job);
	run_until(&scene, 1, "a");
	const struct loop_stalls *stalls = loop_stalls(scene.loop);
	int i = 0;
	while (stalls->causes[i] && strcmp(stalls->causes[i], "test") != 0)
		i++;
	assert_non_null(stalls->causes[i]);
	assert_true(stalls->longest_us[i] >= 3000);
	scene_done(&scene);
}

static void a_hanging_job_is_given_up_and_the_queue_goes_on(void **state)
{
	struct scene scene;
	sem_t never;

	(void)state;
	sem_init(&never, 0, 0);
	scene_make(&scene, LIMIT_NS);
	uint64_t before = loop_now_ns();
	submit(&scene, 'a', NULL, false);
	submit(&scene, 'h', &never, false);
	submit(&scene, 'b', NULL, false);
	submit(&scene, 'c', NULL, false);
	run_until(&scene, 4, "aHbc");
	assert_true(loop_now_ns() - before >= LIMIT_NS);
	assert_true(loop_now_ns() - before < 10 * LIMIT_NS);
	assert_int_equal(worker_given_up(scene.worker), 1);
	wait_for(&freed, 3); /* what hangs keeps its memory … */
	sem_post(&never);
	wait_for(&freed, 4); /* … until it returns */
	scene_done(&scene);
	sem_destroy(&never);
}

static void extend_and_run(struct job *job)
{
	job_extend(job, 4 * LIMIT_NS);
	task_run(job);
}

static void a_job_that_is_past_what_hangs_may_take_longer(void **state)
{
	struct scene scene;
	sem_t late, never;

	(void)state;
	sem_init(&late, 0, 0);
	sem_init(&never, 0, 0);
	scene_make(&scene, LIMIT_NS);
	struct task *extended = new_task(&scene, 'e', &late),
		    *hanging = new_task(&scene, 'h', &never);
	extended->job.run = hanging->job.run = extend_and_run;
	worker_submit(scene.worker, &extended->job);
	worker_submit(scene.worker, &hanging->job);
	loop_timer_set(scene.loop, &scene.alarm, loop_now_ns() + 2 * LIMIT_NS);
	assert_int_equal(loop_run(scene.loop), 0);
	assert_int_equal(scene.len, 0);
	assert_int_equal(worker_given_up(scene.worker), 0);
	sem_post(&late);
	run_until(&scene, 2, "eH");
	assert_int_equal(worker_given_up(scene.worker), 1);
	sem_post(&never);
	wait_for(&freed, 2);
	scene_done(&scene);
	sem_destroy(&late);
	sem_destroy(&never);
}

static void a_job_without_limit_is_not_given_up(void **state)
{
	struct scene scene;
	sem_t slow;

	(void)state;
	sem_init(&slow, 0, 0);
	scene_make(&scene, LIMIT_NS / 4);
	submit(&scene, 'u', &slow, true);
	submit(&scene, 'a', NULL, false);
	scene.end = 2;
	loop_timer_set(scene.loop, &scene.alarm, loop_now_ns() + 4 * LIMIT_NS);
	assert_int_equal(loop_run(scene.loop), 0);
	assert_string_equal(scene.text, "");
	sem_post(&slow);
	run_until(&scene, 2, "ua");
	assert_int_equal(worker_given_up(scene.worker), 0);
	scene_done(&scene);
	sem_destroy(&slow);
}

static void a_job_after_a_long_rest_is_watched_too(void **state)
{
	struct scene scene;
	sem_t never;

	(void)state;
	sem_init(&never, 0, 0);
	scene_make(&scene, LIMIT_NS);
	submit(&scene, 'a', NULL, false);
	run_until(&scene, 1, "a");
	loop_timer_set(scene.loop, &scene.alarm, loop_now_ns() + 3 * LIMIT_NS);
	assert_int_equal(loop_run(scene.loop), 0); /* the watchdog goes to sleep */
	submit(&scene, 'h', &never, false);
	run_until(&scene, 2, "aH");
	sem_post(&never);
	wait_for(&freed, 2);
	scene_done(&scene);
	sem_destroy(&never);
}

static void with_too_many_hanging_threads_jobs_fail_until_one_returns(void **state)
{
	char expected[WORKER_HANGING_MAX + 4] = "";
	struct scene scene;
	sem_t never;

	(void)state;
	sem_init(&never, 0, 0);
	scene_make(&scene, 20 * NS_PER_MS);
	for (int i = 0; i < WORKER_HANGING_MAX; i++)
		submit(&scene, 'h', &never, false);
	memset(expected, 'H', WORKER_HANGING_MAX);
	submit(&scene, 'y', NULL, false);
	run_until(&scene, WORKER_HANGING_MAX + 1, strcat(expected, "Y"));
	assert_int_equal(begun, WORKER_HANGING_MAX);
	assert_int_equal(worker_refused(scene.worker), 1);
	submit(&scene, 'z', NULL, false);
	run_until(&scene, WORKER_HANGING_MAX + 2, strcat(expected, "Z"));
	sem_post(&never);
	wait_for(&freed, 3); /* y and z and the one that returned */
	submit(&scene, 'v', NULL, false);
	run_until(&scene, WORKER_HANGING_MAX + 3, strcat(expected, "v"));
	for (int i = 0; i < WORKER_HANGING_MAX - 1; i++)
		sem_post(&never);
	wait_for(&freed, WORKER_HANGING_MAX + 3);
	scene_done(&scene);
	sem_destroy(&never);
}

static void a_fence_is_passed_after_all_before_it(void **state)
{
	struct scene scene;
	sem_t never;

	(void)state;
	sem_init(&never, 0, 0);
	scene_make(&scene, LIMIT_NS);
	assert_int_equal(worker_fence(scene.worker, NULL, pass, &scene), 0);
	submit(&scene, 'a', NULL, false);
	submit(&scene, 'h', &never, false);
	assert_int_equal(worker_fence(scene.worker, NULL, pass, &scene), 0);
	submit(&scene, 'b', NULL, false);
	run_until(&scene, 5, "|aH|b");
	sem_post(&never);
	wait_for(&freed, 3);
	scene_done(&scene);
	sem_destroy(&never);
}

static enum job_end ends[2];

static void task_tells_its_end(struct job *job, bool finished)
{
	struct task *task = (struct task *)job;

	ends[task->letter - 'a'] = job->end;
	task_done(job, finished);
}

static atomic_bool enough;

static void compute(struct job *job)
{
	(void)job;
	while (!atomic_load(&enough))
		;
}

static void a_job_that_computes_is_told_from_one_that_hangs(void **state)
{
	struct scene scene;
	sem_t never;

	(void)state;
	sem_init(&never, 0, 0);
	atomic_store(&enough, false);
	scene_make(&scene, 200 * NS_PER_MS);
	struct task *hangs = new_task(&scene, 'a', &never), *computes = new_task(&scene, 'b', NULL);
	hangs->job.done = computes->job.done = task_tells_its_end;
	computes->job.run = compute;
	worker_submit(scene.worker, &hangs->job);
	worker_submit(scene.worker, &computes->job);
	run_until(&scene, 2, "AB");
	assert_int_equal(ends[0], JOB_HANGS);
	assert_int_equal(ends[1], JOB_SLOW);
	atomic_store(&enough, true);
	sem_post(&never);
	wait_for(&freed, 2);
	scene_done(&scene);
	sem_destroy(&never);
}

static void *open_later(void *arg)
{
	usleep(30000);
	sem_post(arg);
	return NULL;
}

static int nice_seen;

static void look_at_nice(struct job *job)
{
	(void)job;
	nice_seen = getpriority(PRIO_PROCESS, 0);
}

static void its_thread_is_as_nice_as_was_said(void **state)
{
	struct scene scene;
	int mine = getpriority(PRIO_PROCESS, 0);

	(void)state;
	scene_make(&scene, LIMIT_NS);
	worker_set_nice(scene.worker, 1);
	struct task *task = calloc(1, sizeof(*task));
	assert_non_null(task);
	task->job = (struct job){.run = look_at_nice, .done = task_done, .free = task_free};
	task->scene = &scene;
	task->letter = 'a';
	worker_submit(scene.worker, &task->job);
	run_until(&scene, 1, "a");
	assert_int_equal(nice_seen, mine == 19 ? 19 : mine + 1);
	assert_int_equal(getpriority(PRIO_PROCESS, 0), mine);
	scene_done(&scene);
}

static void freeing_drops_what_waits_in_the_queue(void **state)
{
	struct scene scene;
	pthread_t thread;
	sem_t gate;

	(void)state;
	sem_init(&gate, 0, 0);
	scene_make(&scene, LIMIT_NS);
	submit(&scene, 'a', &gate, false);
	wait_for(&begun, 1);
	for (int i = 0; i < 10; i++)
		submit(&scene, 'b', NULL, false);
	assert_int_equal(pthread_create(&thread, NULL, open_later, &gate), 0);
	worker_stop(scene.worker); /* while the first one runs */
	worker_free(scene.worker);
	pthread_join(thread, NULL);
	assert_int_equal(freed, 10);
	assert_int_equal(begun, 1);
	assert_int_equal(scene.len, 0);
	/* The first was done in time: that waits in the loop. */
	scene.worker = NULL;
	run_until(&scene, 1, "a");
	assert_int_equal(freed, 11);
	scene_done(&scene);
	sem_destroy(&gate);
}

static void what_a_given_up_job_frees_may_take_another_job(void **state)
{
	struct scene scene;
	sem_t never;

	(void)state;
	sem_init(&never, 0, 0);
	scene_make(&scene, LIMIT_NS);
	submit_holder(&scene, 'h', &never);
	run_until(&scene, 1, "H");
	sem_post(&never);
	wait_for(&begun, 2);
	submit(&scene, 'a', NULL, false);
	run_until(&scene, 2, "Ha");
	wait_for(&freed, 3);
	scene_done(&scene);
	sem_destroy(&never);
}

static void what_a_dropped_job_frees_may_take_another_job(void **state)
{
	struct scene scene;
	sem_t never;

	(void)state;
	sem_init(&never, 0, 0);
	scene_make(&scene, LIMIT_NS);
	submit_holder(&scene, 'h', &never);
	wait_for(&begun, 1);
	submit_holder(&scene, 'b', NULL);
	worker_stop(scene.worker);
	assert_int_equal(freed, 2); /* `b`, and what it submitted */
	sem_post(&never);
	wait_for(&freed, 4);
	assert_int_equal(begun, 1);
	assert_int_equal(scene.len, 0);
	scene_done(&scene);
	sem_destroy(&never);
}

static void a_job_that_outlives_its_worker_is_freed_when_it_returns(void **state)
{
	struct scene scene;
	sem_t never;

	(void)state;
	sem_init(&never, 0, 0);
	scene_make(&scene, LIMIT_NS);
	submit(&scene, 'h', &never, false);
	wait_for(&begun, 1);
	uint64_t before = loop_now_ns();
	worker_stop(scene.worker);
	worker_free(scene.worker);
	assert_true(loop_now_ns() - before < 3 * NS_PER_S);
	/* From now on nobody may touch the loop: it is about to be freed. */
	sem_post(&never);
	wait_for(&freed, 1);
	assert_int_equal(scene.len, 0);
	loop_free(scene.loop);
	sem_destroy(&never);
}

/* Such as a descriptor's last user, on a thread that returns when the daemon has ended. */
static void who_keeps_a_reference_may_submit_after_the_workers_end(void **state)
{
	struct scene scene;

	(void)state;
	scene_make(&scene, LIMIT_NS);
	struct worker *kept = worker_ref(scene.worker);
	worker_stop(scene.worker);
	worker_free(scene.worker);
	loop_free(scene.loop);
	submit(&(struct scene){.worker = kept}, 'a', NULL, false);
	wait_for(&freed, 1);
	assert_int_equal(begun, 0);
	worker_free(kept);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jobs_run_in_the_order_of_submission),
		cmocka_unit_test(done_is_never_called_inside_submit),
		cmocka_unit_test(the_end_of_a_job_counts_under_its_workers_name),
		cmocka_unit_test(a_hanging_job_is_given_up_and_the_queue_goes_on),
		cmocka_unit_test(a_job_that_is_past_what_hangs_may_take_longer),
		cmocka_unit_test(a_job_without_limit_is_not_given_up),
		cmocka_unit_test(a_job_after_a_long_rest_is_watched_too),
		cmocka_unit_test(with_too_many_hanging_threads_jobs_fail_until_one_returns),
		cmocka_unit_test(a_fence_is_passed_after_all_before_it),
		cmocka_unit_test(a_job_that_computes_is_told_from_one_that_hangs),
		cmocka_unit_test(its_thread_is_as_nice_as_was_said),
		cmocka_unit_test(freeing_drops_what_waits_in_the_queue),
		cmocka_unit_test(what_a_given_up_job_frees_may_take_another_job),
		cmocka_unit_test(what_a_dropped_job_frees_may_take_another_job),
		cmocka_unit_test(a_job_that_outlives_its_worker_is_freed_when_it_returns),
		cmocka_unit_test(who_keeps_a_reference_may_submit_after_the_workers_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
