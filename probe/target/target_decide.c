// SPDX-License-Identifier: GPL-2.0-or-later
/* Decides who wants a process: the snoopers, and subscribers that chose it. */
#include "target/target_state.h"

#include "proc/permission.h"
#include "bpf/shared/thread_times.h"

uint32_t target_wanted_early(uint32_t wanted)
{
	return (wanted & WANTED_STACKS) | (wanted & WANTED_SCHED ? MAYBE_SCHED : 0);
}

uint32_t targets_subscribers(const struct targets *targets, const struct target *target,
			     uint32_t bit)
{
	const struct selection *selection = &targets->selection;

	if (target->rejected)
		return 0;
	uint32_t followers = target->probes & 1u << bit ? selection->followers : 0;
	return selection->wanting[bit] & (followers | (target->subscribers & ~target->waiting));
}

bool targets_want_times(const struct targets *targets, const struct target *target)
{
	for (uint32_t bit = 0; bit < WANTED_COUNT; bit++) {
		if (TIMES_WANTED & 1u << bit && targets_subscribers(targets, target, bit))
			return true;
	}
	return false;
}

uint32_t selection_wanted(const struct selection *selection)
{
	uint32_t wanted = 0;

	for (int bit = 0; bit < WANTED_COUNT; bit++)
		wanted |= selection->wanting[bit] ? 1u << bit : 0;
	return wanted;
}

bool targets_will_want(const struct targets *targets, const struct target *target, uint32_t probe)
{
	return targets_subscribers(targets, target, probe) ||
	       (!target->rejected && target->waiting & targets->selection.wanting[probe]);
}

bool target_is_walked(const struct targets *targets, const struct target *target)
{
	for (uint32_t probe = 0; probe < PROBE_COUNT; probe++) {
		if (targets_will_want(targets, target, probe))
			return true;
	}
	return target->undecided && target->maybe & WANTED_STACKS;
}

void target_deselect(struct targets *targets, struct target *target)
{
	target_forget_in_kernel(targets, target->pid, target->id);
	target_table_end(targets->table, target, loop_now_ns());
}

static bool is_listed(const struct chosen *chosen, const struct target *target)
{
	for (size_t i = 0; i < chosen->count; i++) {
		if (chosen->ids[i].pid == target->line_pid &&
		    chosen->ids[i].start_ticks == target->line_start_ticks)
			return true;
	}
	return false;
}

/*
 * Returns whether the user may look into it. /proc shows this incarnation as long as it is the
 * kernel's newest.
 */
static bool is_permitted(const struct targets *targets, const struct chosen *chosen,
			 const struct target *target)
{
	struct target_value now;

	if (!chosen->of_user)
		return true;
	return permission_to_look(target->pid, &chosen->user) == 0 &&
	       (tracer_target_get(targets->tracer, target->pid, &now) < 0 || now.id <= target->id);
}

/* Returns the subscribers that chose it or an ancestor. */
static void find_choosers(const struct targets *targets, struct target *target)
{
	const struct selection *selection = &targets->selection;
	uint32_t inherited = target->inherited;

	target->inherited = 0;
	target->subscribers = 0;
	target->waiting = 0;
	for (int i = 0; i < SUBSCRIBERS_MAX; i++) {
		const struct chosen *chosen = &selection->chosen[i];
		uint32_t bit = 1u << i;

		if (chosen->across_exec && inherited & bit)
			target->inherited |= bit;
		else if (!is_listed(chosen, target) || !is_permitted(targets, chosen, target))
			continue;
		else if (chosen->from_exec)
			target->waiting |= bit;
		target->subscribers |= bit;
	}
}

bool target_evaluate(const struct targets *targets, struct target *target)
{
	struct identity who = {
		.line_pid = target->line_pid,
		.line_start_ticks = target->line_start_ticks,
		.comm = target->comm,
	};
	const struct selection *selection = &targets->selection;
	uint32_t wanted = selection_wanted(selection);
	struct match match = {0}, placed;

	if (selection->snoopers && selection->followers)
		snoopers_match(selection->snoopers, &who, &match);
	target_match_group(targets, target, &placed);
	if (!target->undecided)
		target->probes_before = target->alive ? target->probes : 0;
	target->probes = (match.probes | placed.probes) & wanted;
	target->maybe = match.maybe & wanted & ~target->probes;
	if (target->maybe && target->judged_by == snoopers_serial(selection->snoopers)) {
		target->probes |= target->judged_probes & wanted;
		target->maybe = 0;
	}
	target->unnamed = placed.unnamed & wanted & ~target->probes;
	target->maybe |= target->unnamed;
	target->undecided = target->maybe != 0;
	find_choosers(targets, target);
	return target->probes || target->undecided || target->subscribers;
}

void target_judge(struct targets *targets, const struct life_event *event,
		  const struct target *fresh)
{
	const struct selection *selection = &targets->selection;
	uint32_t wanted = selection_wanted(selection);
	struct match match;

	if (event->kind != LIFE_EXEC || event->verdict || targets->scanning ||
	    !selection->snoopers || !selection->followers)
		return;
	snoopers_match(selection->snoopers, &(struct identity){.comm = event->comm}, &match);
	if (!((match.probes | match.maybe) & wanted))
		tracer_judge(targets->tracer, event->comm, VERDICT_DOES_NOT);
	else if (!(match.maybe & wanted))
		tracer_judge(targets->tracer, event->comm, VERDICT_MATCHES);
	target_judge_group(targets, &event->group, fresh);
}

/* Rejects a process that did not match: its samples are dropped. */
static void reject(struct targets *targets, struct target *target)
{
	target->rejected = true;
	target_forget_in_kernel(targets, target->pid, target->id);
	target_table_end(targets->table, target, loop_now_ns());
}

void target_decide(struct targets *targets, struct target *target, const struct inspection *e,
		   bool finished)
{
	if (finished) {
		target->judged_by = snoopers_serial(e->snoopers);
		target->judged_probes = e->match.probes;
		target->probes |= e->match.probes & selection_wanted(&targets->selection);
	} else if (target->probes_before) {
		target->probes |= target->judged_probes; /* nothing better is known */
	}
	target->unnamed &= ~target->probes;
	target->maybe = target->unnamed; /* what it still waits for */
	target->undecided = target->maybe != 0;
	if (target->undecided)
		target_correct_kernel(targets, target);
	else
		target_settle(targets, target);
}

void target_settle(struct targets *targets, struct target *target)
{
	if (target->probes || target->subscribers)
		target_correct_kernel(targets, target);
	else if (!target->probes_before)
		reject(targets, target);
	if (!target->rejected && !target->probes && !target->subscribers) {
		target->probes = target->probes_before; /* what was sampled until now was wanted */
		target_deselect(targets, target);
	}
}
