// SPDX-License-Identifier: GPL-2.0-or-later
/* How soon the kernel gives a worker's threads a CPU. */
#include <sys/resource.h>
#include <sys/syscall.h>

#include "loop/turn.h"
#include "unit/loop/worker_scene.h"

/* struct sched_attr: <linux/sched/types.h> and <sched.h> can't both be included. */
struct attr {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

/* How the kernel runs a thread: its nice value, and its time slice in ns; 0: before Linux 6.12. */
struct turn {
	int nice;
	uint64_t slice;
};

static struct turn turn_now(void)
{
	struct attr attr = {0};

	assert_int_equal(syscall(SYS_sched_getattr, 0, &attr, sizeof(attr), 0), 0);
	return (struct turn){getpriority(PRIO_PROCESS, 0), attr.runtime};
}

static struct turn turn_seen;

static void look_at_turn(struct job *job)
{
	(void)job;
	turn_seen = turn_now();
}

/* Returns the turn of a worker's thread that this thread begins. */
static struct turn turn_of(void (*set)(struct worker *worker, int nice), int nice)
{
	struct scene scene;
	struct task *task = calloc(1, sizeof(*task));

	assert_non_null(task);
	scene_make(&scene, LIMIT_NS);
	set(scene.worker, nice);
	task->job = (struct job){.run = look_at_turn, .done = task_done, .free = task_free};
	task->scene = &scene;
	task->letter = 'a';
	worker_submit(scene.worker, &task->job);
	run_until(&scene, 1, "a");
	scene_done(&scene);
	return turn_seen;
}

static void a_workers_thread_is_as_nice_as_was_said(void **state)
{
	struct turn mine = turn_now();
	struct turn its = turn_of(worker_set_nice, 1);

	(void)state;
	assert_int_equal(its.nice, mine.nice == 19 ? 19 : mine.nice + 1);
	assert_int_equal(its.slice, mine.slice);
	assert_int_equal(turn_now().nice, mine.nice);
}

static void a_prompt_workers_slice_is_the_shortest(void **state)
{
	struct turn mine = turn_now();
	struct turn its = turn_of(worker_be_prompt, 1);

	(void)state;
	assert_int_equal(its.nice, mine.nice == 19 ? 19 : mine.nice + 1);
	if (mine.slice == 0)
		skip(); /* this kernel has no such slices */
	assert_int_equal(its.slice, NS_PER_MS / 10);
	assert_int_equal(turn_now().slice, mine.slice);
}

static void *begin_others_promptly(void *arg)
{
	struct turn *others = arg;

	turn_be_prompt(getpriority(PRIO_PROCESS, 0));
	others[0] = turn_now();
	others[1] = turn_of(worker_set_nice, 0);
	return NULL;
}

static void who_begins_a_workers_thread_leaves_it_no_slice(void **state)
{
	struct turn mine = turn_now(), others[2];
	pthread_t thread;

	(void)state;
	if (mine.slice == 0)
		skip();
	assert_int_equal(pthread_create(&thread, NULL, begin_others_promptly, others), 0);
	pthread_join(thread, NULL);
	assert_int_equal(others[0].slice, NS_PER_MS / 10);
	assert_int_equal(others[1].slice, mine.slice);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_workers_thread_is_as_nice_as_was_said),
		cmocka_unit_test(a_prompt_workers_slice_is_the_shortest),
		cmocka_unit_test(who_begins_a_workers_thread_leaves_it_no_slice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
