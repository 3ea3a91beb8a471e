/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A scene whose first process counts as a Java VM. What VMs are asked is kept here, and answered by
 * the test, in place of java/agents/attach_queue.c (by the linker: UNITFLAGS_test_engine_java).
 */
#pragma once

#include "unit/engine/engine_scene.h"

#include "java/agents/attach_queue.h"
#include "java/agents/jfr_state.h"
#include "runtime/jvm.h"

#define VM_INTERVAL_NS (600 * NS_PER_S) /* a VM isn't asked twice in a test */

static struct {
	struct attach_request *asked; /* the last request, until it is answered */
	struct jfr_vm *read;	      /* whose files are to be read */
	bool without_jfr;	      /* this program has no agent of JFR mode */
} vm_test;

int __wrap_attach_queue_new(struct attach_queue **ret, struct loop *loop, struct worker *foreign);
void __wrap_attach_queue_free(struct attach_queue *asking);
void __wrap_attach_queue_limit(struct attach_queue *asking, unsigned at_once);
void __wrap_attach_queue_ask(struct attach_queue *asking, struct attach_request *question);
void __wrap_attach_queue_tell(const struct attach_request *question);
bool __wrap_attach_queue_drop(struct attach_request *question);
bool __wrap_attach_has_jfr(void);
int __wrap_jfr_read(struct jfr_vm *vm);

int __wrap_attach_queue_new(struct attach_queue **ret, struct loop *loop, struct worker *foreign)
{
	(void)loop, (void)foreign;
	*ret = NULL;
	return 0;
}

void __wrap_attach_queue_free(struct attach_queue *asking)
{
	(void)asking;
	vm_test.asked = NULL;
}

void __wrap_attach_queue_limit(struct attach_queue *asking, unsigned at_once)
{
	(void)asking, (void)at_once;
}

void __wrap_attach_queue_ask(struct attach_queue *asking, struct attach_request *question)
{
	(void)asking;
	assert_null(vm_test.asked); /* one thing at a time */
	question->step = QUESTION_ASKED;
	vm_test.asked = question;
}

void __wrap_attach_queue_tell(const struct attach_request *question)
{
	(void)question;
}

bool __wrap_attach_queue_drop(struct attach_request *question)
{
	return question->step == QUESTION_NONE;
}

bool __wrap_attach_has_jfr(void)
{
	return !vm_test.without_jfr;
}

int __wrap_jfr_read(struct jfr_vm *vm)
{
	vm_test.read = vm;
	return 0;
}

/* ---- questions and answers ---- */

/* Returns what the VM is asked for; -1: nothing. */
static inline int vm_asked(void)
{
	return vm_test.asked ? (int)vm_test.asked->order.task : -1;
}

static bool vm_is_asked(void *arg)
{
	const int *task = arg;

	return vm_asked() == *task;
}

/* Waits until the VM is asked for that. */
static inline void vm_until_asked(struct scene *scene, enum attach_task task)
{
	int expected = (int)task;

	scripted_core_until(&scene->core, vm_is_asked, &expected);
}

static inline void vm_answer(enum attach_result result)
{
	struct attach_request *question = TAKE_PTR(vm_test.asked);
	enum attach_task task = question->order.task;
	bool started = result == ATTACH_DONE && (task == ATTACH_START || task == ATTACH_JFR_START);
	struct attach_answer answer = {
		.result = result,
		.folder_fd = started ? dup(0) : -1,
		.tmp_fd = started ? dup(0) : -1,
	};

	question->step = QUESTION_NONE;
	question->answered(question, &answer);
}

/* ---- the scene ---- */

static inline int vm_begin(void **state)
{
	memset(&vm_test, 0, sizeof(vm_test));
	return scene_begin(state);
}

#define VM_TEST(name) cmocka_unit_test_setup_teardown(name, vm_begin, scene_end)

/* Returns the scene's process as a target. */
static inline const struct target *vm_target(const struct scene *scene)
{
	const struct target *target = engine_target(scene->engine, scene->process.pid);

	assert_non_null(target);
	return target;
}

/* The process turns out to be a VM; error: why its tables can't be read, or 0. */
static inline void vm_found(const struct scene *scene, int error)
{
	struct jvm *jvm = calloc(1, sizeof(*jvm));

	assert_non_null(jvm);
	jvm->runtime.refs = 1;
	jvm->runtime.error = error;
	((struct target *)(uintptr_t)vm_target(scene))->runtimes[RUNTIME_JAVA].known =
		&jvm->runtime;
}

/* Subscribes to the process, which is a VM whose tables can't be read (-ENOTSUP), or can (0). */
static inline struct subscriber *vm_subscribe(struct scene *scene, int error)
{
	struct subscriber *subscriber = scene_subscribe(scene, &scene->process, ON(ONCPU));

	scene_sampled(scene, &scene->process, ON(ONCPU));
	vm_found(scene, error);
	return subscriber;
}

/* A stack of it comes, which its VM may be asked for. */
static inline void vm_run(const struct scene *scene)
{
	struct stack_key key = scene_key(&scene->process, PROBE_ONCPU, 1);

	scene_send(&key);
	tracer_read_stacks(engine_tracer(scene->engine));
}

static inline void vm_assert_state(const struct scene *scene, enum java_source way,
				   const char *reason, const char *agent)
{
	struct java_state state;

	engine_java_state(scene->engine, vm_target(scene), &state);
	assert_string_equal(state.reason, reason);
	assert_string_equal(state.agent, agent);
	assert_int_equal(state.way, way);
}
