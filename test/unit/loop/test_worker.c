// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/lib/unit.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/resource.h>

#include "loop/loop.h"
#include "loop/worker.h"

#define LIMIT_NS (40 * NS_PER_MS)

static atomic_int freed, begun;

/* What a test watches: the loop, and what was reported in which order. */
struct scene {
	struct loop *loop;
	struct worker *worker;
	struct loop_timer alarm; /* a test that waits in vain ends */
	char text[WORKER_HANGING_MAX + 16];
	size_t len, end;
};

struct task {
	struct job job;
	struct scene *scene;
	char letter;
	sem_t *wait; /* run() waits for it; NULL: it doesn't */
};

static void task_run(struct job *job)
{
	struct task *task = (struct task *)job;

	atomic_fetch_add(&begun, 1);
	if (task->wait)
		sem_wait(task->wait);
}

static void tell(struct scene *scene, char letter)
{
	assert_true(scene->len + 1 < sizeof(scene->text));
	scene->text[scene->len++] = letter;
	if (scene->len == scene->end)
		loop_stop(scene->loop);
}

static void task_done(struct job *job, bool finished)
{
	struct task *task = (struct task *)job;

	/* A finished job's letter is small, one given up has a capital. */
	tell(task->scene, finished ? task->letter : (char)(task->letter - 'a' + 'A'));
}

static void task_free(struct job *job)
{
	free(job);
	atomic_fetch_add(&freed, 1);
}

static void nothing_done(struct job *job, bool finished)
{
	(void)job, (void)finished;
}

/* As a job does that holds a file: a job closes it. */
static void free_and_submit(struct job *job)
{
	struct task *last = calloc(1, sizeof(*last));

	assert_non_null(last);
	last->job = (struct job){.run = task_run, .done = nothing_done, .free = task_free};
	worker_submit(job->worker, &last->job);
	task_free(job);
}

static void fail_in_vain(void *arg)
{
	struct scene *scene = arg;

	loop_stop(scene->loop);
}

static void scene_make(struct scene *scene, uint64_t limit_ns)
{
	*scene = (struct scene){.alarm = {.expired = fail_in_vain, .arg = scene}};
	freed = begun = 0;
	assert_int_equal(loop_new(&scene->loop), 0);
	assert_int_equal(worker_new(&scene->worker, scene->loop, "test", limit_ns), 0);
}

static void scene_done(struct scene *scene)
{
	worker_stop(scene->worker);
	worker_free(scene->worker);
	loop_free(scene->loop);
}

static struct task *new_task(struct scene *scene, char letter, sem_t *wait)
{
	struct task *task = calloc(1, sizeof(*task));

	assert_non_null(task);
	*task = (struct task){
		.job = {.run = task_run, .done = task_done, .free = task_free},
		.scene = scene,
		.letter = letter,
		.wait = wait,
	};
	return task;
}

static void submit(struct scene *scene, char letter, sem_t *wait, bool unlimited)
{
	struct task *task = new_task(scene, letter, wait);

	task->job.unlimited = unlimited;
	worker_submit(scene->worker, &task->job);
}

static void submit_holder(struct scene *scene, char letter, sem_t *wait)
{
	struct task *task = new_task(scene, letter, wait);

	task->job.free = free_and_submit;
	worker_submit(scene->worker, &task->job);
}

static void run_until(struct scene *scene, size_t end, const char *expected)
{
	scene->end = end;
	loop_timer_set(scene->loop, &scene->alarm, loop_now_ns() + 20 * NS_PER_S);
	assert_int_equal(loop_run(scene->loop), 0);
	loop_timer_cancel(scene->loop, &scene->alarm);
	assert_string_equal(scene->text, expected);
}

static void wait_for(const atomic_int *count, int wanted)
{
	for (int i = 0; i < 5000 && atomic_load(count) < wanted; i++)
		usleep(1000);
	assert_int_equal(atomic_load(count), wanted);
}

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

static void pass(void *arg)
{
	tell(arg, '|');
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jobs_run_in_the_order_of_submission),
		cmocka_unit_test(done_is_never_called_inside_submit),
		cmocka_unit_test(a_hanging_job_is_given_up_and_the_queue_goes_on),
		cmocka_unit_test(a_job_that_is_past_what_hangs_may_take_longer),
		cmocka_unit_test(a_job_without_limit_is_not_given_up),
		cmocka_unit_test(a_job_after_a_long_rest_is_watched_too),
		cmocka_unit_test(with_too_many_hanging_threads_jobs_fail_until_one_returns),
		cmocka_unit_test(a_fence_is_passed_after_all_before_it),
		cmocka_unit_test(a_user_with_too_many_hanging_jobs_is_refused_and_nobody_else),
		cmocka_unit_test(a_user_in_many_roots_has_a_part_of_all_threads),
		cmocka_unit_test(a_users_jobs_in_many_roots_take_a_part_of_the_threads_aside),
		cmocka_unit_test(users_of_one_number_in_two_roots_are_two),
		cmocka_unit_test(a_users_long_job_is_put_aside_for_others_and_its_next_ones_wait),
		cmocka_unit_test(a_job_aside_that_hangs_is_given_up_and_its_users_next_ones_run),
		cmocka_unit_test(who_has_had_least_is_next),
		cmocka_unit_test(a_fence_that_has_waited_enough_is_passed),
		cmocka_unit_test(a_job_that_computes_is_told_from_one_that_hangs),
		cmocka_unit_test(its_thread_is_as_nice_as_was_said),
		cmocka_unit_test(freeing_drops_what_waits_in_the_queue),
		cmocka_unit_test(what_a_given_up_job_frees_may_take_another_job),
		cmocka_unit_test(what_a_dropped_job_frees_may_take_another_job),
		cmocka_unit_test(a_job_that_outlives_its_worker_is_freed_when_it_returns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
