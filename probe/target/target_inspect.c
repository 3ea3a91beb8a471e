// SPDX-License-Identifier: GPL-2.0-or-later
/* Inspections of a process: when they are due, and what becomes of their results. */
#include "target/target_state.h"

#include <errno.h>
#include <string.h>

#include "proc/proc.h"

/* Delay of the next reading of maps, for a process whose addresses stay unknown. */
#define RETRY_NS (5 * NS_PER_MS)
/* Maps read this shortly before the end of an exec may be the new program's already. */
#define EXEC_NS (50 * NS_PER_MS)

/* Opens its perf map or agent's file, for the process may end any time. */
static void meet_made_code(struct targets *targets, const struct target *target,
			   const struct inspection *e)
{
	struct perfmap_process process = target_perfmap(target);

	for (size_t i = 0; i < e->maps.count; i++) {
		if (e->maps.mappings[i].kind != MAPPING_JIT)
			continue;
		perfmap_meet(targets->files, &process);
		return;
	}
}

/* Returns whether the maps that were read are this incarnation's. */
static bool are_its_maps(const struct target *target, const struct inspection *e)
{
	uint64_t margin = target->ended_by_exec ? EXEC_NS : 0;

	return e->error == 0 && e->maps.count &&
	       (target_is_alive(target) || e->ended_ns + margin < target->ended_ns);
}

/* Notes its cgroups, if the kernel's side hasn't reported them. */
static void take_place(struct targets *targets, struct target *target, const struct inspection *e)
{
	if (e->cgroups && !target->group) {
		struct known_cgroup *group =
			containers_place(targets->containers, &e->cgroups->place, e->cgroups->path);

		target_set_group(target, group);
		containers_ask(targets->containers, group);
		group_unref(group);
	}
	target->ns_pid = e->ns_pid;
}

static void take_inspection(void *arg, struct inspection *e, bool finished)
{
	struct targets *targets = arg;

	tracer_read_life(targets->tracer); /* its incarnation may have changed meanwhile */
	struct target *target = target_table_find(targets->table, (uint32_t)e->pid, e->id);
	if (!target)
		return;
	bool hangs = !finished && e->job.end != JOB_REFUSED;
	target->inspection = target_inspection_ended(target->inspection, hangs);
	if (hangs) {
		targets->stats.unreadable++;
		hung_set_add(&targets->hung, (uint64_t)target->pid, target->start_ticks,
			     UINT64_MAX);
	}
	if (target_is_undecided(target) && finished && e->snoopers != targets->selection.snoopers)
		target_look_at(targets, target); /* the answer is to an older question */
	else if (target_is_undecided(target))
		target_decide(targets, target, e, finished);
	if (finished && e->error == 0)
		take_place(targets, target, e);
	if (finished && target->state != TARGET_REJECTED && are_its_maps(target, e)) {
		target_take_maps(targets, target, e);
		meet_made_code(targets, target, e);
		if (address_space_read_ns(target->space) >= target->uncovered_ns)
			target->uncovered_ns = 0;
		target_publish(targets, target);
		if (target->spans && target->spans->has_made)
			target_look_at_made(targets, target, e->began_ns);
		if (targets->maps_read)
			targets->maps_read(targets->maps_arg);
	} else if (!target_is_inspected(target)) {
		target_give_up_arming(targets, target);
	}
}

/*
 * Returns the user of the job. Users of a container aren't the host's. Looking at its root may
 * hang, so until a job has done that the mount namespace tells.
 */
static void learn_user(struct target *target)
{
	uid_t uid;

	if (proc_uid(target->pid, &uid) < 0)
		return;
	target->whose =
		job_of(uid, target->root_known ? target->root_elsewhere : proc_mounts(target->pid));
}

void target_look_at(struct targets *targets, struct target *target)
{
	struct inspection question = {
		.pid = target->pid,
		.id = target->id,
		.start_ticks = target->start_ticks,
		.snoopers = targets->selection.snoopers,
		.where = !target->group,
		.ns_pid = target->ns_pid,
		.line_pid = target->line_pid,
		.line_start_ticks = target->line_start_ticks,
		.done = take_inspection,
		.arg = targets,
	};

	if (target_is_inspected(target) || !target_is_alive(target))
		return;
	learn_user(target);
	question.job.whose = target->whose;
	memcpy(question.comm, target->comm, sizeof(question.comm));
	if (target_hangs(target) || hung_set_until_ns(&targets->hung, (uint64_t)target->pid,
						      target->start_ticks, loop_now_ns())) {
		target_set_hung(target);
		if (target_is_undecided(target))
			target_decide(targets, target, &question, false);
		return;
	}
	if (inspect(targets->urgent, &question) < 0)
		return; /* no memory: its next new stack asks again */
	target->inspection = INSPECTION_RUNNING;
	target->retry_ns = loop_now_ns() + RETRY_NS;
}

void targets_on_maps(struct targets *targets, void (*read)(void *arg), void *arg)
{
	targets->maps_read = read;
	targets->maps_arg = arg;
}

void targets_look_at(struct targets *targets, const struct target *target)
{
	struct target *its = target_table_find(targets->table, (uint32_t)target->pid, target->id);

	if (its)
		target_look_at(targets, its);
}

void target_meet(struct targets *targets, struct target *target)
{
	if (target_is_undecided(target) || target->arming_ns ||
	    (target_is_walked(targets, target) && !address_space_read_ns(target->space) &&
	     rate_take(&targets->eager, loop_now_ns())))
		target_look_at(targets, target);
}

/*
 * Returns whether all that a stack needs is known. A return address outside all mappings says
 * nothing: code without frame pointers leaves anything in their place.
 */
static bool is_covered(const struct target *target, const struct stack *stack,
		       const uint64_t *words)
{
	struct code code;

	if (address_space_read_ns(target->space) >= stack->time_ns)
		return true;
	if (!address_space_read_ns(target->space)) /* the kernel's side may have told some of it */
		return false;
	if (address_space_exec_pages(target->space) != stack->exec_pages &&
	    target->read_for_pages != stack->exec_pages)
		return false;
	for (size_t i = 0; i < stack->words_count; i++) {
		if (words[i] >> FRAME_KIND_SHIFT >= FRAME_PYTHON)
			break; /* nothing of what follows is native */
		if (words[i] >> FRAME_KIND_SHIFT == FRAME_NATIVE &&
		    address_space_find(target->space, words[i] & FRAME_ADDRESS, stack->time_ns,
				       &code) == -ENOENT)
			return false;
	}
	return true;
}

/* Returns the root's side of a stack's native frames: a word that is Python's or Java's detail
 * isn't native, and comes behind. */
static size_t count_frames(const struct stack *stack, const uint64_t *words)
{
	size_t count = 0;

	while (count < stack->words_count) {
		uint64_t kind = words[count] >> FRAME_KIND_SHIFT;

		if (kind == FRAME_PYTHON || kind == FRAME_PYTHON_ENTRY || kind == FRAME_JAVA_DETAIL)
			break;
		count++;
	}
	return count;
}

/* Finds the place of a frame's instruction in a file; returns false if the frame isn't of a file.
 */
static bool find_in_file(const struct target *target, const struct stack *stack, uint64_t word,
			 struct code *code)
{
	uint64_t kind = word >> FRAME_KIND_SHIFT;

	*code = (struct code){0};
	if ((kind != FRAME_NATIVE && kind != FRAME_NATIVE_RETURN) ||
	    address_space_find(target->space, word & FRAME_ADDRESS, stack->time_ns, code) < 0 ||
	    !code->file)
		return false;
	code->address -= kind == FRAME_NATIVE_RETURN;
	return true;
}

/* A stack that is cut in code without CFI asks for rows that are made from the code. */
static void want_made(struct targets *targets, const struct target *target,
		      const struct stack *stack, const uint64_t *words)
{
	size_t count = count_frames(stack, words);
	struct code code;

	if (stack->truncated != TRUNCATED_FRAME_POINTER || !count ||
	    !find_in_file(target, stack, words[count - 1], &code) ||
	    !spans_want_made(target->spans, code.file, code.address))
		return;
	target_make_rows(targets);
}

void target_make_rows(void *arg)
{
	struct targets *targets = arg;
	uint64_t next_ns = tables_make_rows(targets->tables);

	if (next_ns)
		loop_timer_set(targets->loop, &targets->making, next_ns);
}

bool target_is_from_code(const struct target *target, const struct stack *stack,
			 const uint64_t *words)
{
	struct code code;

	if (!spans_have_made(target->spans))
		return false;
	size_t count = count_frames(stack, words);

	if (stack->truncated != TRUNCATED_NOT && count)
		count--; /* no row led from there */
	for (size_t i = 0; i < count; i++) {
		if (find_in_file(target, stack, words[i], &code) &&
		    spans_are_made(target->spans, code.file, code.address))
			return true;
	}
	return false;
}

void targets_on_stack(struct targets *targets, const struct stack *stack, const uint64_t *words,
		      bool urgent)
{
	struct target *target =
		target_table_find(targets->table, stack->key.tgid, stack->target_id);

	if (!target || !target_is_alive(target))
		return;
	target_ask_runtimes(targets, target);
	target_meet_made(targets, target, stack, words);
	target_meet_dump(targets, target, stack, words);
	want_made(targets, target, stack, words);
	if (is_covered(target, stack, words))
		return;
	target->read_for_pages = stack->exec_pages;
	if (!target_is_inspected(target) && (urgent || loop_now_ns() >= target->retry_ns)) {
		target_look_at(targets, target);
		return;
	}
	/* The same stack won't come again before the next window. */
	target->uncovered_ns = stack->time_ns;
	if (!targets->retry.active)
		loop_timer_set(targets->loop, &targets->retry, loop_now_ns() + RETRY_NS);
}

static void retry_one(void *arg, struct target *target)
{
	struct targets *targets = arg;

	if (!target->uncovered_ns || !target_is_alive(target) || target_hangs(target))
		return;
	if (!target_is_inspected(target) && loop_now_ns() >= target->retry_ns) {
		target->uncovered_ns = 0;
		target_look_at(targets, target);
	} else if (!targets->retry.active) {
		loop_timer_set(targets->loop, &targets->retry, loop_now_ns() + RETRY_NS);
	}
}

void target_retry(void *arg)
{
	struct targets *targets = arg;

	target_table_each(targets->table, retry_one, targets);
}
