// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A target's Java VM: the file's table says that there is one; what else the walker needs is read
 * from the process. What is known goes to the kernel's side with the mappings.
 */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "runtime/jvm.h"
#include "target/target_memory.h"
#include "target/target_state.h"

static bool is_same(const struct jvm *known, const struct spans_hotspot *hotspot)
{
	return known && runtime_is_at(&known->runtime, hotspot->file, hotspot->bias) &&
	       memcmp(&known->found, hotspot->found, sizeof(known->found)) == 0;
}

/* Returns whether asking again may have a better answer. */
static bool is_passing(const struct jvm *known)
{
	int error = known->runtime.error;

	return error && error != -ENOTSUP && error != -ETIMEDOUT;
}

/* A VM has the boundary of virtual threads only with the first of them, if ever. */
static bool is_unfinished(const struct jvm *known)
{
	return jvm_is_supported(known) && known->layout.unfinished;
}

/* Keeps what is known rather than an error of a later question. */
static bool is_worse(const struct jvm *answer, const struct jvm *known)
{
	return jvm_is_supported(known) && answer->runtime.error &&
	       runtime_is_at(&known->runtime, answer->runtime.file, answer->runtime.bias);
}

/* Asks again later: a program may map libjvm from its start, and begin its VM much later. */
static bool may_ask_again(const struct target *target, uint64_t now_ns)
{
	const struct jvm *known = target->jvm;

	if (known->runtime.error == -EAGAIN || is_unfinished(known))
		return retry_may_again(&target->jvm_retry, now_ns);
	return is_passing(known) && retry_may(&target->jvm_retry, now_ns);
}

static void come_back(struct targets *targets, const struct target *target)
{
	struct loop_timer *timer = &targets->begun;
	uint64_t at_ns = target->jvm_retry.next_ns;

	if (is_passing(target->jvm) && (!timer->active || timer->at_ns > at_ns))
		loop_timer_set(targets->loop, timer, at_ns);
}

static void answered(void *arg, const struct runtime_question *question, struct runtime *runtime,
		     struct job_memory *memory)
{
	struct targets *targets = arg;
	struct jvm *answer = (struct jvm *)runtime;
	struct target *target =
		target_table_find(targets->table, (uint32_t)question->pid, question->id);

	if (target && memory)
		target_memory_keep(target, memory);
	if (target) {
		retry_end(&target->jvm_retry);
		if (runtime->error == -ETIMEDOUT)
			target_set_hung(target); /* a worse one as well */
	}
	if (!target || !target_is_alive(target) || is_worse(answer, target->jvm)) {
		jvm_unref(answer);
		return;
	}
	jvm_unref(target->jvm);
	target->jvm = answer;
	log_debug("target %d (%.*s): Java %u, %d%s%s", (int)target->pid, COMM_BYTES, target->comm,
		  answer->layout.version, runtime->error, answer->missing ? ", no " : "",
		  answer->missing ? answer->missing : "");
	come_back(targets, target);
	target_publish(targets, target);
}

static void ask(struct targets *targets, struct target *target, const struct spans_hotspot *hotspot)
{
	struct jvm about = {
		.runtime = {.file = hotspot->file, .bias = hotspot->bias},
		.found = *hotspot->found,
	};
	struct runtime_question question = {
		.pid = target->pid,
		.id = target->id,
		.whose = target->whose,
		.kind = &jvm_kind,
		.about = &about.runtime,
		.done = answered,
		.arg = targets,
	};

	target_memory_of(&question.memory, target, targets->urgent);
	if (runtime_ask(targets->urgent, &question) == 0) /* else the next time */
		retry_begin(&target->jvm_retry, loop_now_ns());
}

void targets_leave_java(struct targets *targets)
{
	targets->without_java = true;
}

void target_meet_java(struct targets *targets, struct target *target,
		      const struct spans_hotspot *hotspot)
{
	if (!hotspot->found || targets->without_java || target_hangs(target))
		return;
	if (!is_same(target->jvm, hotspot)) {
		if (target->jvm && !target->jvm_retry.asking)
			retry_forget(&target->jvm_retry);
	} else if (!is_passing(target->jvm)) {
		return;
	}
	if (retry_may(&target->jvm_retry, loop_now_ns()))
		ask(targets, target, hotspot);
}

const struct hotspot *target_hotspot(const struct target *target)
{
	return jvm_is_supported(target->jvm) ? &target->jvm->layout.walk : NULL;
}

bool target_awaits_java(const struct targets *targets, const struct target *target)
{
	const struct jvm *known = target->jvm;

	if (targets->without_java || target_hangs(target))
		return false;
	return (known ? is_passing(known) : target->spans && target->spans->has_hotspot) &&
	       retry_goes_on(&target->jvm_retry);
}

void target_ask_java(struct targets *targets, struct target *target)
{
	const struct jvm *known = target->jvm;
	uint64_t now_ns = loop_now_ns();

	if (targets->without_java || target_hangs(target) || !target_is_alive(target))
		return;
	if (!known) {
		if (target->spans && target->spans->has_hotspot &&
		    retry_may(&target->jvm_retry, now_ns))
			target_publish(targets, target);
		return;
	}
	if (may_ask_again(target, now_ns))
		ask(targets, target,
		    &(struct spans_hotspot){&known->found, known->runtime.file,
					    known->runtime.bias});
}

static void ask_begun(void *arg, struct target *target)
{
	struct targets *targets = arg;
	const struct jvm *known = target->jvm;

	if (!known || !is_passing(known))
		return;
	target_ask_java(targets, target);
	if (!target->jvm_retry.asking && loop_now_ns() < target->jvm_retry.next_ns)
		come_back(targets, target);
}

void targets_ask_begun(void *arg)
{
	struct targets *targets = arg;

	target_table_each(targets->table, ask_begun, targets);
}
