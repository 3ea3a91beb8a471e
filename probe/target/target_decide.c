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

	if (target->state == TARGET_REJECTED)
		return 0;
	uint32_t followers = target->match.probes & 1u << bit ? selection->followers : 0;
	return selection->wanting[bit] &
	       (followers | (target->choice.subscribers & ~target->choice.waiting));
}

static bool has_thread(const struct chosen *chosen, pid_t tid)
{
	for (size_t i = 0; i < chosen->tids_count; i++) {
		if (chosen->tids[i] == tid)
			return true;
	}
	return !chosen->tids_count;
}

uint32_t targets_of_thread(const struct targets *targets, uint32_t subscribers, pid_t tid)
{
	for (uint32_t i = 0; i < SUBSCRIBERS_MAX; i++) {
		if (subscribers & 1u << i && !has_thread(&targets->selection.chosen[i], tid))
			subscribers &= ~(1u << i);
	}
	return subscribers;
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
	       (target->state != TARGET_REJECTED &&
		target->choice.waiting & targets->selection.wanting[probe]);
}

bool target_is_walked(const struct targets *targets, const struct target *target)
{
	for (uint32_t probe = 0; probe < PROBE_COUNT; probe++) {
		if (targets_will_want(targets, target, probe))
			return true;
	}
	return target_is_undecided(target) && target->match.pending & WANTED_STACKS;
}

void target_deselect(struct targets *targets, struct target *target)
{
	target_forget_in_kernel(targets, target->pid, target->id);
	if (target_is_alive(target))
		target_table_end(targets->table, target, loop_now_ns());
	target->state = TARGET_ENDED;
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
	uint32_t inherited = target->choice.inherited;

	target->choice.inherited = 0;
	target->choice.subscribers = 0;
	target->choice.waiting = 0;
	for (int i = 0; i < SUBSCRIBERS_MAX; i++) {
		const struct chosen *chosen = &selection->chosen[i];
		uint32_t bit = 1u << i;

		if (chosen->across_exec && inherited & bit)
			target->choice.inherited |= bit;
		else if (!is_listed(chosen, target) || !is_permitted(targets, chosen, target))
			continue;
		else if (chosen->from_exec)
			target->choice.waiting |= bit;
		target->choice.subscribers |= bit;
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
	if (!target_is_undecided(target))
		target->match.before = target_is_alive(target) ? target->match.probes : 0;
	target->match.probes = (match.probes | placed.probes) & wanted;
	target->match.pending = match.maybe & wanted & ~target->match.probes;
	if (target->match.pending &&
	    target->match.judged_by == snoopers_serial(selection->snoopers)) {
		target->match.probes |= target->match.judged_probes & wanted;
		target->match.pending = 0;
	}
	target->match.unread = 0;
	target->match.unnamed = placed.unnamed & wanted & ~target->match.probes;
	target->match.pending |= target->match.unnamed;
	if (target_is_alive(target))
		target->state = target_state_of(target->match.pending != 0);
	find_choosers(targets, target);
	return target->match.probes || target->match.pending || target->choice.subscribers;
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

/* Decides on a process whose command line could not be read, by the best that is known. */
static void judge_unread(const struct targets *targets, struct target *target, uint32_t unread)
{
	struct target_match *match = &target->match;
	const struct selection *selection = &targets->selection;
	uint32_t wanted = selection_wanted(selection);

	if (match->before)
		match->probes |= match->judged_probes;
	else if (match->parents_by && match->parents_by == snoopers_serial(selection->snoopers))
		match->probes |= match->parents_probes & unread & wanted;
	else
		match->unread = unread & wanted & ~match->probes;
}

void target_decide(struct targets *targets, struct target *target, const struct inspection *e,
		   bool finished)
{
	uint32_t unread =
		finished ? e->match.maybe : target->match.pending & ~target->match.unnamed;

	if (finished)
		target->match.probes |= e->match.probes & selection_wanted(&targets->selection);
	if (finished && !unread) {
		target->match.judged_by = snoopers_serial(e->snoopers);
		target->match.judged_probes = e->match.probes;
	} else {
		judge_unread(targets, target, unread);
	}
	target->match.unnamed &= ~target->match.probes;
	target->match.pending = target->match.unnamed;
	if (target->match.pending)
		target_correct_kernel(targets, target);
	else
		target_settle(targets, target);
}

void target_settle(struct targets *targets, struct target *target)
{
	if (target->match.probes || target->choice.subscribers) {
		target->state = target_is_alive(target) ? TARGET_WANTED : TARGET_ENDED;
		target_correct_kernel(targets, target);
		return;
	}
	target->match.probes = target->match.before; /* what was sampled until now was wanted */
	target_deselect(targets, target);
	if (!target->match.before)
		target->state = TARGET_REJECTED;
}
