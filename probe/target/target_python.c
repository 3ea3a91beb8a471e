// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A target's CPython: the file's table says that there is one; what else the walker needs is read
 * from the process. What is known goes to the kernel's side with the mappings.
 */
#include <errno.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "runtime/interpreter.h"
#include "target/target_memory.h"
#include "target/target_state.h"

static bool is_same(const struct interpreter *known, const struct spans_python *python)
{
	return known && runtime_is_at(&known->runtime, python->file, python->bias) &&
	       known->found.version == python->found->version &&
	       known->found.runtime == python->found->runtime;
}

/* Returns whether asking again may have a better answer. */
static bool is_passing(const struct interpreter *known)
{
	int error = known->runtime.error;

	if (!error)
		return known->script_may_change;
	return error != -ENOTSUP && error != -ETIMEDOUT;
}

static void answered(void *arg, const struct runtime_question *question, struct runtime *runtime,
		     struct job_memory *memory)
{
	struct targets *targets = arg;
	struct interpreter *answer = (struct interpreter *)runtime;
	struct target *target =
		target_table_find(targets->table, (uint32_t)question->pid, question->id);

	if (target && memory)
		target_memory_keep(target, memory);
	if (target)
		retry_end(&target->interpreter_retry);
	if (!target || !target_is_alive(target)) {
		interpreter_unref(answer);
		return;
	}
	if (runtime->error == -ETIMEDOUT)
		target_set_hung(target);
	interpreter_unref(target->interpreter);
	target->interpreter = answer;
	log_debug("target %d (%.*s): CPython %x, %d", (int)target->pid, COMM_BYTES, target->comm,
		  answer->found.version, runtime->error);
	target_publish(targets, target);
}

static bool may_ask(const struct target *target)
{
	return !target_hangs(target) && retry_may(&target->interpreter_retry, loop_now_ns());
}

static void ask(struct targets *targets, struct target *target, const struct spans_python *python)
{
	struct interpreter about = {
		.runtime = {.file = python->file, .bias = python->bias},
		.found = *python->found,
	};
	struct runtime_question question = {
		.pid = target->pid,
		.id = target->id,
		.whose = target->whose,
		.kind = &interpreter_kind,
		.about = &about.runtime,
		.done = answered,
		.arg = targets,
	};

	target_memory_of(&question.memory, target, targets->urgent);
	if (runtime_ask(targets->urgent, &question) == 0) /* else the next time */
		retry_begin(&target->interpreter_retry, loop_now_ns());
}

void targets_leave_python(struct targets *targets)
{
	targets->without_python = true;
}

void target_interpret(struct targets *targets, struct target *target,
		      const struct spans_python *python)
{
	if (!python->found || targets->without_python)
		return;
	if (!is_same(target->interpreter, python)) {
		if (target->interpreter && !target->interpreter_retry.asking)
			retry_forget(&target->interpreter_retry);
	} else if (!is_passing(target->interpreter)) {
		return;
	}
	if (may_ask(target))
		ask(targets, target, python);
}

const struct cpython *target_walk(const struct target *target)
{
	const struct interpreter *known = target->interpreter;

	return interpreter_is_supported(known) ? &known->layout.walk : NULL;
}

static bool is_open(const struct targets *targets, const struct target *target)
{
	const struct interpreter *known = target->interpreter;

	if (targets->without_python || target_hangs(target))
		return false;
	return known ? is_passing(known) : target->spans && target->spans->has_python;
}

bool target_awaits_python(const struct targets *targets, const struct target *target)
{
	return is_open(targets, target) && retry_goes_on(&target->interpreter_retry);
}

void target_ask_interpreter(struct targets *targets, struct target *target)
{
	if (is_open(targets, target) && may_ask(target))
		target_publish(targets, target);
}
