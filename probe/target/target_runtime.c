// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A target's runtimes, CPython and a Java VM: the table of a mapped file says that there is one;
 * what else the walker needs is read from the process. What is known goes to the kernel's side with
 * the mappings.
 */
#include <errno.h>

#include "base/clock.h"
#include "base/log.h"
#include "runtime/made_code.h"
#include "target/target_memory.h"
#include "target/target_state.h"

_Static_assert(WALKS_PYTHON == 1U << RUNTIME_PYTHON && WALKS_JAVA == 1U << RUNTIME_JAVA,
	       "the walkers' bits");

void targets_leave_python(struct targets *targets)
{
	targets->left_out[RUNTIME_PYTHON] = true;
}

void targets_leave_java(struct targets *targets)
{
	targets->left_out[RUNTIME_JAVA] = true;
}

/* Sets the timer for a runtime that begins late, when it may be asked again. */
static void come_back(struct targets *targets, const struct runtime_kind *kind,
		      const struct target_runtime *its)
{
	struct loop_timer *timer = &targets->begun;

	if (kind->begins_late && runtime_is_passing(kind, its->known) &&
	    (!timer->active || timer->at_ns > its->retry.next_ns))
		loop_timer_set(targets->loop, timer, its->retry.next_ns);
}

/* Sets the timer for another look at code that a process has made, if a stack waits for one. */
static void look_later(struct targets *targets, const struct target *target)
{
	const struct target_runtime *its = &target->runtimes[RUNTIME_MADE];
	struct loop_timer *timer = &targets->begun;

	if (target->made_ns && !its->retry.asking &&
	    (!timer->active || timer->at_ns > its->retry.next_ns))
		loop_timer_set(targets->loop, timer, its->retry.next_ns);
}

/* A look at made code has told what there is, for the stacks that came before it. */
static void end_look(struct targets *targets, struct target *target, const struct made_code *code)
{
	struct target_runtime *its = &target->runtimes[RUNTIME_MADE];

	if (code->runtime.error)
		return;
	retry_forget(&its->retry);
	its->retry.next_ns = loop_now_ns() + made_code_rest_ns(code);
	if (target->made_ns <= code->read_ns)
		target->made_ns = 0;
	look_later(targets, target);
}

static bool has_made_rows(const struct runtime *known)
{
	return known && ((const struct made_code *)known)->code.rows.count;
}

/* Takes an answer, and tells the kernel's side, which takes a part in how long a process's made
 * code isn't looked at. Without rows of such code there is nothing to tell of it. */
static void take_answer(struct targets *targets, struct target *target,
			const struct runtime_kind *kind, struct runtime *answer)
{
	struct target_runtime *its = &target->runtimes[kind->number];
	bool is_made = kind->number == RUNTIME_MADE;
	bool has_rows = is_made && (has_made_rows(answer) || has_made_rows(its->known));
	uint64_t before_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	runtime_release(kind, its->known);
	its->known = answer;
	log_debug("target %d (%.*s): %s: %d", (int)target->pid, COMM_BYTES, target->comm,
		  kind->name, answer->error);
	come_back(targets, kind, its);
	if (!is_made || has_rows)
		target_publish(targets, target);
	if (!is_made)
		return;
	struct made_code *code = (struct made_code *)answer;
	code->cpu_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns;
	end_look(targets, target, code);
}

static void runtime_answered(void *arg, const struct runtime_question *question,
			     struct runtime *answer, struct job_memory *memory)
{
	const struct runtime_kind *kind = question->kind;
	struct targets *targets = arg;
	struct target *target =
		target_table_find(targets->table, (uint32_t)question->pid, question->id);
	struct target_runtime *its = target ? &target->runtimes[kind->number] : NULL;

	if (target && memory)
		target_memory_keep(target, memory);
	if (target) {
		retry_end(&its->retry);
		if (answer->error == -ETIMEDOUT)
			target_set_hung(target); /* also if an older answer stays */
	}
	if (!target || !target_is_alive(target)) {
		runtime_release(kind, answer);
		return;
	}
	if (runtime_is_worse(answer, its->known)) {
		look_later(targets, target);
		runtime_release(kind, answer);
		return;
	}
	if (kind->follow && runtime_is_at(its->known, answer->file, answer->bias) &&
	    !kind->follow(answer, its->known)) {
		end_look(targets, target, (const struct made_code *)answer);
		runtime_release(kind, answer);
		return;
	}
	take_answer(targets, target, kind, answer);
}

static void ask_target(struct targets *targets, struct target *target,
		       const struct runtime_kind *kind, const struct runtime_place *place)
{
	struct runtime_question question = {
		.pid = target->pid,
		.id = target->id,
		.whose = target->whose,
		.kind = kind,
		.place = *place,
		.done = runtime_answered,
		.arg = targets,
	};

	target_memory_of(&question.memory, target, targets->urgent);
	if (runtime_ask(targets->urgent, &question) == 0) /* else the next time */
		retry_begin(&target->runtimes[kind->number].retry, loop_now_ns());
}

/* Returns whether its runtimes of a kind may be asked at all. */
static bool is_askable(const struct targets *targets, const struct target *target,
		       enum runtime_number number)
{
	return !targets->left_out[number] && !target_hangs(target);
}

/* Has the walkers loaded beside the questions. */
static void want_walkers(struct targets *targets, const struct target *target,
			 const struct runtime_place found[RUNTIMES])
{
	uint32_t runtimes = 0;

	for (unsigned i = 0; i < RUNTIMES; i++) {
		if (found[i].found && is_askable(targets, target, i))
			runtimes |= 1U << i & WALKS_ALL;
	}
	tracer_walk_runtimes(targets->tracer, runtimes);
}

void target_meet_runtimes(struct targets *targets, struct target *target,
			  const struct runtime_place found[RUNTIMES])
{
	want_walkers(targets, target, found);
	for (unsigned i = 0; i < RUNTIMES; i++) {
		const struct runtime_kind *kind = runtime_kinds[i];
		struct target_runtime *its = &target->runtimes[i];

		if (!found[i].found || !is_askable(targets, target, i))
			continue;
		if (runtime_is_same(kind, its->known, &found[i])) {
			if (!runtime_is_passing(kind, its->known))
				continue;
		} else if (its->known && !its->retry.asking) {
			retry_forget(&its->retry);
		}
		if (retry_may(&its->retry, loop_now_ns()))
			ask_target(targets, target, kind, &found[i]);
	}
}

/*
 * Asks a runtime that is known again, if that may tell more: a program may map libjvm from its
 * start, and begin its VM much later.
 */
static void ask_known(struct targets *targets, struct target *target,
		      const struct runtime_kind *kind)
{
	const struct target_runtime *its = &target->runtimes[kind->number];
	uint64_t now_ns = loop_now_ns();
	bool may_ask =
		runtime_is_unfinished(kind, its->known)
			? retry_may_again(&its->retry, now_ns)
			: runtime_is_passing(kind, its->known) && retry_may(&its->retry, now_ns);

	if (may_ask) {
		struct runtime_place place = runtime_place_of(kind, its->known);

		ask_target(targets, target, kind, &place);
	}
}

void target_ask_runtimes(struct targets *targets, struct target *target)
{
	for (unsigned i = 0; i < RUNTIMES; i++) {
		const struct target_runtime *its = &target->runtimes[i];

		if (!is_askable(targets, target, i) || (i == RUNTIME_MADE && its->known))
			continue;
		if (its->known)
			ask_known(targets, target, runtime_kinds[i]);
		else if (target->spans && target->spans->runtimes[i].is_there &&
			 retry_may(&its->retry, loop_now_ns()))
			target_publish(targets, target);
	}
}

static void look_again(struct targets *targets, struct target *target)
{
	const struct runtime_kind *kind = runtime_kinds[RUNTIME_MADE];
	const struct target_runtime *its = &target->runtimes[RUNTIME_MADE];
	struct runtime_place place;

	if (!target->made_ns || !its->known || its->known->error ||
	    !is_askable(targets, target, RUNTIME_MADE))
		return;
	if (!retry_may_again(&its->retry, loop_now_ns())) {
		look_later(targets, target);
		return;
	}
	place = runtime_place_of(kind, its->known);
	const struct jit_place there = made_code_place(target_made_code(target));
	place.found = &there;
	ask_target(targets, target, kind, &place);
}

void target_look_at_made(struct targets *targets, struct target *target, uint64_t ns)
{
	if (ns > target->made_ns)
		target->made_ns = ns;
	look_again(targets, target);
}

bool target_has_made(const struct target *target, const struct stack *stack, const uint64_t *words)
{
	struct code code;

	for (size_t i = 0; i < stack->words_count; i++) {
		uint64_t kind = words[i] >> FRAME_KIND_SHIFT;

		if (kind != FRAME_NATIVE && kind != FRAME_NATIVE_RETURN)
			continue;
		if (address_space_find(target->space, words[i] & FRAME_ADDRESS, stack->time_ns,
				       &code) == 0 &&
		    code_is_made(&code))
			return true;
	}
	return false;
}

void target_meet_made(struct targets *targets, struct target *target, const struct stack *stack,
		      const uint64_t *words)
{
	const struct made_code *made = target_made_code(target);

	if (!made || (!made->runtime.error && stack->time_ns <= made->read_ns))
		return;
	if (target_has_made(target, stack, words))
		target_look_at_made(targets, target, stack->time_ns);
}

bool target_awaits_runtimes(const struct targets *targets, const struct target *target)
{
	for (unsigned i = 0; i < RUNTIMES; i++) {
		const struct target_runtime *its = &target->runtimes[i];
		bool is_open = i == RUNTIME_MADE ? false
			       : its->known	 ? runtime_is_passing(runtime_kinds[i], its->known)
					    : target->spans && target->spans->runtimes[i].is_there;

		if (is_open && is_askable(targets, target, i) && retry_goes_on(&its->retry))
			return true;
	}
	return false;
}

bool target_is_asked(const struct target *target)
{
	for (unsigned i = 0; i < RUNTIMES; i++) {
		if (target->runtimes[i].retry.asking)
			return true;
	}
	return false;
}

static void ask_late(void *arg, struct target *target)
{
	struct targets *targets = arg;

	look_again(targets, target);
	target_read_dump_late(targets, target);
	for (unsigned i = 0; i < RUNTIMES; i++) {
		const struct runtime_kind *kind = runtime_kinds[i];
		const struct target_runtime *its = &target->runtimes[i];

		if (!kind->begins_late || !its->known || !runtime_is_passing(kind, its->known) ||
		    !is_askable(targets, target, i))
			continue;
		ask_known(targets, target, kind);
		if (!its->retry.asking && loop_now_ns() < its->retry.next_ns)
			come_back(targets, kind, its);
	}
}

void targets_ask_late(void *arg)
{
	struct targets *targets = arg;

	target_table_each(targets->table, ask_late, targets);
}
