/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A loop with a worker, jobs that wait for a semaphore, and what was reported in which order. */
#pragma once

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

static inline void task_run(struct job *job)
{
	struct task *task = (struct task *)job;

	atomic_fetch_add(&begun, 1);
	if (task->wait)
		sem_wait(task->wait);
}

static inline void tell(struct scene *scene, char letter)
{
	assert_true(scene->len + 1 < sizeof(scene->text));
	scene->text[scene->len++] = letter;
	if (scene->len == scene->end)
		loop_stop(scene->loop);
}

static inline void task_done(struct job *job, bool finished)
{
	struct task *task = (struct task *)job;

	/* A finished job's letter is small, one given up has a capital. */
	tell(task->scene, finished ? task->letter : (char)(task->letter - 'a' + 'A'));
}

static inline void task_free(struct job *job)
{
	free(job);
	atomic_fetch_add(&freed, 1);
}

static inline void nothing_done(struct job *job, bool finished)
{
	(void)job, (void)finished;
}

/* As a job does that holds a file: a job closes it. */
static inline void free_and_submit(struct job *job)
{
	struct task *last = calloc(1, sizeof(*last));

	assert_non_null(last);
	last->job = (struct job){.run = task_run, .done = nothing_done, .free = task_free};
	worker_submit(job->worker, &last->job);
	task_free(job);
}

static inline void fail_in_vain(void *arg)
{
	struct scene *scene = arg;

	loop_stop(scene->loop);
}

static inline void scene_make(struct scene *scene, uint64_t limit_ns)
{
	*scene = (struct scene){.alarm = {.expired = fail_in_vain, .arg = scene}};
	freed = begun = 0;
	assert_int_equal(loop_new(&scene->loop), 0);
	assert_int_equal(worker_new(&scene->worker, scene->loop, "test", limit_ns), 0);
}

static inline void scene_done(struct scene *scene)
{
	worker_stop(scene->worker);
	worker_free(scene->worker);
	loop_free(scene->loop);
}

static inline struct task *new_task(struct scene *scene, char letter, sem_t *wait)
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

static inline void submit(struct scene *scene, char letter, sem_t *wait, bool unlimited)
{
	struct task *task = new_task(scene, letter, wait);

	task->job.unlimited = unlimited;
	worker_submit(scene->worker, &task->job);
}

static inline void submit_holder(struct scene *scene, char letter, sem_t *wait)
{
	struct task *task = new_task(scene, letter, wait);

	task->job.free = free_and_submit;
	worker_submit(scene->worker, &task->job);
}

static inline void run_until(struct scene *scene, size_t end, const char *expected)
{
	scene->end = end;
	loop_timer_set(scene->loop, &scene->alarm, loop_now_ns() + 20 * NS_PER_S);
	assert_int_equal(loop_run(scene->loop), 0);
	loop_timer_cancel(scene->loop, &scene->alarm);
	assert_string_equal(scene->text, expected);
}

static inline void wait_for(const atomic_int *count, int wanted)
{
	for (int i = 0; i < 5000 && atomic_load(count) < wanted; i++)
		usleep(1000);
	assert_int_equal(atomic_load(count), wanted);
}

static inline void pass(void *arg)
{
	tell(arg, '|');
}
