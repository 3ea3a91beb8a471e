// SPDX-License-Identifier: GPL-2.0-or-later
/* What the kernel's side is told of a target: an entry of the map `targets`. */
#include "target/target_state.h"

#include <errno.h>

void target_forget_in_kernel(struct targets *targets, pid_t pid, uint64_t id)
{
	struct target_value now;

	if (tracer_target_get(targets->tracer, pid, &now) == 0 && now.id == id)
		tracer_target_del(targets->tracer, pid);
}

static bool is_same(const struct target_value *a, const struct target_value *b)
{
	return a->id == b->id && a->probes == b->probes && a->spans == b->spans &&
	       a->spans_count == b->spans_count && a->spans_number == b->spans_number &&
	       a->python == b->python && a->hotspot == b->hotspot && a->asked == b->asked;
}

static void tell_kernel(struct targets *targets, struct target *target, bool may_add)
{
	const struct spans *spans = target->spans;
	struct target_value now = {0}, wanted = {.id = target->id};

	if (spans) {
		wanted.spans = spans->start;
		wanted.spans_count = spans->count;
		wanted.spans_number = spans->number;
		wanted.python = spans->runtimes[RUNTIME_PYTHON].walk;
		wanted.hotspot = spans->runtimes[RUNTIME_JAVA].walk;
	}
	for (uint32_t bit = 0; bit < WANTED_COUNT; bit++) {
		if (targets_subscribers(targets, target, bit))
			wanted.probes |= 1u << bit;
	}
	if (target_is_undecided(target))
		wanted.probes |= target_wanted_early(target->match.pending);
	bool there = tracer_target_get(targets->tracer, target->pid, &now) == 0;
	if (there ? now.id > target->id : !may_add)
		return;
	wanted.noticed = there ? now.noticed : 0;
	wanted.unread = there ? now.unread : !address_space_read_ns(target->space);
	wanted.exec_pages = there ? now.exec_pages : address_space_exec_pages(target->space);
	wanted.asked = target_awaits_runtimes(targets, target);
	bool nobodys = !wanted.probes && !target->choice.waiting && !target_is_undecided(target);
	uint32_t probes = wanted.probes;
	if (target->arming_ns)
		wanted.probes = 0;
	if (nobodys) {
		target_forget_in_kernel(targets, target->pid, target->id);
	} else if ((!there || !is_same(&now, &wanted)) &&
		   tracer_target_set(targets->tracer, target->pid, &wanted, !there) == -ENOSPC) {
		targets->stats.refused++;
		return;
	}
	if (!target_is_undecided(target))
		target_log_probes(&targets->log, target, probes);
}

void target_tell_kernel(struct targets *targets, struct target *target)
{
	tell_kernel(targets, target, true);
}

void target_correct_kernel(struct targets *targets, struct target *target)
{
	tell_kernel(targets, target, false);
}
