// SPDX-License-Identifier: GPL-2.0-or-later
/* A process is asked about its runtime, and may hang then. */
#include "unit/lib/unit.h"

#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "loop/loop.h"
#include "runtime/runtime.h"

#define PID	 7
#define LIMIT_NS (40 * NS_PER_MS)

struct made {
	struct runtime runtime;
	int found, known;
};

struct scene {
	struct loop *loop;
	struct worker *worker;
	struct loop_timer alarm; /* a test that waits in vain ends */
	struct symbol_file *file;
	struct made *answer;
};

static atomic_int unrefs;
static sem_t *hangs;
static atomic_bool computes; /* until the job was given up */
static uint64_t takes_ns;    /* time of no computing */

static void ask(pid_t pid, const struct process_memory *memory, struct runtime *runtime)
{
	struct made *made = (struct made *)runtime;

	(void)memory;
	if (hangs)
		sem_wait(hangs);
	while (computes)
		;
	if (takes_ns)
		usleep((useconds_t)(takes_ns / 1000));
	made->known = made->found + pid;
	runtime->error = 0;
}

static void unref(struct runtime *runtime)
{
	if (runtime_unref(runtime))
		free(runtime);
	unrefs++;
}

static struct runtime_kind kind = {
	.bytes = sizeof(struct made),
	.found_at = offsetof(struct made, found),
	.found_bytes = sizeof(int),
	.ask = ask,
	.unref = unref,
};

static void in_vain(void *arg)
{
	loop_stop(((struct scene *)arg)->loop);
}

static void answered(void *arg, const struct runtime_question *question, struct runtime *answer,
		     struct job_memory *memory)
{
	struct scene *scene = arg;

	assert_int_equal(question->pid, PID);
	assert_int_equal(question->id, 70);
	assert_int_equal(memory == NULL, hangs || computes);
	scene->answer = (struct made *)answer;
	loop_stop(scene->loop);
}

static void scene_make(struct scene *scene)
{
	*scene = (struct scene){.alarm = {.expired = in_vain, .arg = scene}};
	unrefs = 0;
	scene->file = symbol_file_nameless("/usr/lib/runtime");
	assert_non_null(scene->file);
	assert_int_equal(loop_new(&scene->loop), 0);
	assert_int_equal(worker_new(&scene->worker, scene->loop, "test", LIMIT_NS), 0);
}

static void scene_done(struct scene *scene)
{
	worker_stop(scene->worker);
	worker_free(scene->worker);
	loop_free(scene->loop);
	symbol_file_unref(scene->file);
}

static void put_question(struct scene *scene)
{
	const int found = 100;
	struct runtime_question question = {
		.pid = PID,
		.memory = {.own = -1},
		.id = 70,
		.kind = &kind,
		.place = {&found, scene->file, 0x1000},
		.done = answered,
		.arg = scene,
	};

	assert_int_equal(runtime_ask(scene->worker, &question), 0);
	loop_timer_set(scene->loop, &scene->alarm, loop_now_ns() + 60 * NS_PER_S);
	assert_int_equal(loop_run(scene->loop), 0);
	assert_non_null(scene->answer);
	assert_int_equal(scene->answer->runtime.refs, 1);
	assert_true(runtime_is_at(&scene->answer->runtime, scene->file, 0x1000));
	assert_int_equal(scene->answer->found, 100);
}

static void what_is_known_is_handed_over(void **state)
{
	struct scene scene;

	(void)state;
	scene_make(&scene);
	put_question(&scene);
	assert_int_equal(scene.answer->runtime.error, 0);
	assert_int_equal(scene.answer->known, 107);
	unref(&scene.answer->runtime);
	scene_done(&scene);
	assert_int_equal(unrefs, 2); /* and the one for a process that hangs */
}

/* What the job still fills in is another one than that which was handed over. */
static void a_process_that_hangs_is_answered_for(void **state)
{
	struct scene scene;
	sem_t late;

	(void)state;
	assert_int_equal(sem_init(&late, 0, 0), 0);
	hangs = &late;
	scene_make(&scene);
	put_question(&scene);
	assert_int_equal(scene.answer->runtime.error, -ETIMEDOUT);
	sem_post(&late);
	while (unrefs < 1)
		usleep(1000);
	assert_int_equal(scene.answer->runtime.error, -ETIMEDOUT);
	assert_int_equal(scene.answer->known, 0);
	unref(&scene.answer->runtime);
	scene_done(&scene);
	assert_int_equal(unrefs, 2);
	hangs = NULL;
	sem_destroy(&late);
}

/* A target whose answer is -ETIMEDOUT is never asked again. */
static void a_question_that_takes_long_to_compute_may_be_put_again(void **state)
{
	struct scene scene;

	(void)state;
	computes = true;
	kind.limit_ns = NS_PER_S; /* it gets some of the CPU in that time */
	scene_make(&scene);
	put_question(&scene);
	computes = false;
	assert_int_equal(scene.answer->runtime.error, -EBUSY);
	assert_true(runtime_is_passing(&kind, &scene.answer->runtime));
	while (unrefs < 1)
		usleep(1000);
	unref(&scene.answer->runtime);
	scene_done(&scene);
	assert_int_equal(unrefs, 2);
	kind.limit_ns = 0;
}

static void a_kind_may_have_more_time_than_others(void **state)
{
	struct scene scene;

	(void)state;
	takes_ns = 5 * LIMIT_NS;
	kind.limit_ns = 60 * NS_PER_S;
	scene_make(&scene);
	put_question(&scene);
	assert_int_equal(scene.answer->runtime.error, 0);
	unref(&scene.answer->runtime);
	scene_done(&scene);
	kind.limit_ns = takes_ns = 0;
}

static void whose_code_it_is(void **state)
{
	struct symbol_file *file = symbol_file_nameless("/usr/lib/runtime"), *other;
	struct runtime runtime = {.file = file, .bias = 0x1000};

	(void)state;
	other = symbol_file_nameless("/usr/lib/other");
	assert_true(runtime_owns(&runtime, &(struct code){.place = CODE_FILE, .file = file}));
	assert_false(runtime_owns(&runtime, &(struct code){.place = CODE_FILE, .file = other}));
	assert_false(runtime_owns(NULL, &(struct code){.place = CODE_FILE, .file = file}));
	assert_true(runtime_is_at(&runtime, file, 0x1000));
	assert_false(runtime_is_at(&runtime, file, 0x2000));
	assert_false(runtime_is_at(&runtime, other, 0x1000));
	assert_false(runtime_is_at(NULL, file, 0x1000));
	symbol_file_unref(file);
	symbol_file_unref(other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_known_is_handed_over),
		cmocka_unit_test(a_process_that_hangs_is_answered_for),
		cmocka_unit_test(a_question_that_takes_long_to_compute_may_be_put_again),
		cmocka_unit_test(a_kind_may_have_more_time_than_others),
		cmocka_unit_test(whose_code_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
