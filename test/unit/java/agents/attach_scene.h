/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A Java VM that is a target, for test_agents.c and test_jfr*.c: what it is asked, and what it
 * answers, are made here in place of java/agents/attach_queue.c. */
#pragma once

#include "unit/lib/unit.h"

#include "loop/loop.h"
#include "java/agents/attach_queue.h"
#include "runtime/jvm.h"
#include "target/target_table.h"
#include "elf/fd_budget.h"

static struct {
	struct loop *loop;
	struct worker *worker;
	struct target_table *table;
	struct target *target;
	bool waits; /* it isn't the turn of what is asked from now on */
	/* of the answers from now on */
	const char *says;
	int error;
	uint64_t folder_inode;
	struct attach_request *asked; /* the last one */
	unsigned told_last;	      /* to stop, without an answer */
} scene;

/* ---- by the linker (UNITFLAGS_test_agents, UNITFLAGS_test_jfr…) ---- */

int __wrap_attach_queue_new(struct attach_queue **ret, struct loop *loop, struct worker *foreign);
void __wrap_attach_queue_free(struct attach_queue *asking);
void __wrap_attach_queue_limit(struct attach_queue *asking, unsigned at_once);
void __wrap_attach_queue_ask(struct attach_queue *asking, struct attach_request *question);
void __wrap_attach_queue_tell(const struct attach_request *question);
bool __wrap_attach_queue_drop(struct attach_request *question);

int __wrap_attach_queue_new(struct attach_queue **ret, struct loop *loop, struct worker *foreign)
{
	(void)loop;
	(void)foreign;
	*ret = NULL;
	return 0;
}

/* Who waits for its turn, and needs no look, is told. */
void __wrap_attach_queue_free(struct attach_queue *asking)
{
	struct attach_request *question = TAKE_PTR(scene.asked);

	(void)asking;
	if (question && question->step == QUESTION_WAITING && !question->look)
		__wrap_attach_queue_tell(question);
	if (question)
		question->step = QUESTION_NONE;
}

void __wrap_attach_queue_limit(struct attach_queue *asking, unsigned at_once)
{
	(void)asking;
	(void)at_once;
}

void __wrap_attach_queue_ask(struct attach_queue *asking, struct attach_request *question)
{
	(void)asking;
	assert_int_equal(question->step, QUESTION_NONE);
	question->step = scene.waits ? QUESTION_WAITING : QUESTION_ASKED;
	scene.asked = question;
}

void __wrap_attach_queue_tell(const struct attach_request *question)
{
	enum attach_task task = question->order.task;

	assert_true(task == ATTACH_STOP || task == ATTACH_JFR_STOP);
	assert_false(question->look);
	assert_true(question->order.folder_fd >= 0);
	scene.told_last++;
}

bool __wrap_attach_queue_drop(struct attach_request *question)
{
	if (question->step == QUESTION_WAITING) {
		question->step = QUESTION_NONE;
		if (scene.asked == question)
			scene.asked = NULL;
	}
	return question->step == QUESTION_NONE;
}

/* ---- the VM ---- */

static inline enum attach_task asked_for(void)
{
	return scene.asked ? scene.asked->order.task : ATTACH_CLEAN;
}

static inline void answer(enum attach_result result)
{
	struct attach_request *question = TAKE_PTR(scene.asked);
	enum attach_task task = question->order.task;
	bool started = result == ATTACH_DONE && (task == ATTACH_START || task == ATTACH_JFR_START);
	struct attach_answer told = {
		.result = result,
		.folder_fd = started ? dup(0) : -1,
		.tmp_fd = started ? dup(0) : -1,
		.error = scene.error,
		.folder_inode = scene.folder_inode,
	};

	snprintf(told.text, sizeof(told.text), "%s", scene.says ? scene.says : "");
	question->step = QUESTION_NONE;
	question->answered(question, &told);
}

/* The process goes on as another target. */
static inline void change(bool by_exec)
{
	struct target like = *scene.target;

	like.id++;
	like.space = NULL;
	like.spans = NULL;
	runtime_ref(like.runtimes[RUNTIME_JAVA].known);
	scene.target->ended_by_exec = by_exec;
	scene.target = target_table_add(scene.table, &like);
	assert_non_null(scene.target);
}

static inline bool nobody(void *arg, const struct target *target)
{
	(void)arg;
	(void)target;
	return false;
}

static inline bool everybody(void *arg, const struct target *target)
{
	(void)arg;
	(void)target;
	return true;
}

/* ---- the scene ---- */

static inline void scene_begin(void)
{
	struct target like = {
		.pid = 7, .id = 1, .start_ticks = 5, .comm = "java", .state = TARGET_WANTED};

	memset(&scene, 0, sizeof(scene));
	assert_int_equal(loop_new(&scene.loop), 0);
	assert_int_equal(worker_new(&scene.worker, scene.loop, "test", NS_PER_S), 0);
	assert_int_equal(target_table_new(&scene.table, 4), 0);
	struct jvm *jvm = calloc(1, sizeof(*jvm));
	assert_non_null(jvm);
	jvm->runtime.refs = 1;
	like.runtimes[RUNTIME_JAVA].known = &jvm->runtime;
	scene.target = target_table_add(scene.table, &like);
	assert_non_null(scene.target);
}

/* So many places for descriptors are taken. */
static inline void assert_held(unsigned count)
{
	unsigned left = (unsigned)fd_budget_max() - count;

	assert_true(fd_budget_take_many(left));
	assert_false(fd_budget_take());
	fd_budget_give_many(left);
}

static inline void scene_end(void)
{
	assert_held(0); /* all places were given back */
	worker_stop(scene.worker);
	loop_flush(scene.loop); /* jobs that are done */
	worker_free(scene.worker);
	target_table_free(scene.table);
	loop_free(scene.loop);
}

/* With the engine's, set_up() and tear_down(). */
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
