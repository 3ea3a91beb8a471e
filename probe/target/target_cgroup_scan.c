// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Scans for processes that were there before they were wanted for their container, or got there
 * without a new program. They are looked at when the container's names are known.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "select/cgroup_scan.h"
#include "target/target_state.h"

#define AWAITING_MAX 16384
/* Most scans in a row: children of targets are reported by events, so one or two are enough. */
#define ROUNDS_MAX 4
#define LATEST_NS  (64 * NS_PER_S) /* longest wait before a new scan after some that failed */

static void await_names(struct targets *targets, const struct cgroup_member *resident,
			struct known_cgroup *group)
{
	struct where *where = &targets->where;
	struct awaiting *more =
		where->awaiting_count < AWAITING_MAX
			? reallocarray(where->awaiting, where->awaiting_count + 1, sizeof(*more))
			: NULL;

	if (!more) {
		where->overflowed = true;
		return;
	}
	where->awaiting = more;
	more[where->awaiting_count++] =
		(struct awaiting){resident->pid, resident->start_ticks, group_ref(group)};
}

/* Notes the path. An unreadable one (cgroups_read()) doesn't replace a known one. */
static bool is_there(const struct target *known, const struct cgroup_member *resident,
		     const struct known_cgroup *group)
{
	return known && known->start_ticks == resident->start_ticks && known->group &&
	       known->group->in == group->in &&
	       (!group->path[0] || strcmp(known->group->path, group->path) == 0);
}

/*
 * Returns whether it is sampled for all that its cgroups choose it for: they may have become known
 * after it was evaluated by its name.
 */
static bool has_all(const struct target *known, const struct match *match, uint32_t wanted)
{
	return !(match->probes & wanted & ~known->match.probes) &&
	       !(match->unnamed & wanted & ~(known->match.probes | known->match.unnamed));
}

static void take_resident(struct targets *targets, const struct cgroup_member *resident)
{
	struct known_cgroup *group =
		containers_place(targets->containers, &resident->place, resident->path);
	struct target *known = target_table_current(targets->table, resident->pid);
	uint32_t wanted = selection_wanted(&targets->selection);
	struct target like = {.group = group};
	struct match match;

	if (!group)
		return;
	target_match_group(targets, &like, &match);
	if (is_there(known, resident, group) && has_all(known, &match, wanted)) {
		group_unref(group);
		return;
	}
	if (match.unnamed & wanted) {
		containers_ask(targets->containers, group);
		await_names(targets, resident, group);
	}
	targets->where.added |=
		targets_scan_resident(targets, resident->pid, resident->start_ticks, group);
	group_unref(group);
}

static void take_scan(struct targets *targets, const struct cgroup_scan *scan, bool finished)
{
	for (size_t i = 0; finished && i < scan->residents_count; i++)
		take_resident(targets, &scan->residents[i]);
}

/* A scan didn't see all processes. */
static void count_later(struct targets *targets)
{
	struct where *where = &targets->where;

	if (!targets->stats.searches_failed++)
		log_warn("processes of containers could not all be looked for: this is tried "
			 "again, and from now on only counted");
	loop_timer_set(targets->loop, &where->late,
		       loop_now_ns() + retry_wait(++where->failures, NS_PER_S, LATEST_NS));
}

static bool has_failed(const struct cgroup_scan *scan, bool finished)
{
	return !finished || scan->incomplete;
}

static void told_of_all(void *arg, struct cgroup_scan *scan, bool finished, bool last);

static void count_all(struct targets *targets)
{
	struct where *where = &targets->where;

	where->again = where->running;
	if (where->running || !targets->by_group)
		return;
	where->added = false;
	where->running = cgroup_scan_begin(targets->urgent, targets->selection.snoopers, NULL, 0,
					   told_of_all, targets) == 0;
	if (!where->running)
		count_later(targets);
}

void targets_count_late(void *arg)
{
	count_all(arg);
}

/*
 * Scans again: what a new target forked after it was listed and before it became one is in no list,
 * and no event reported it.
 */
static void count_children(struct targets *targets)
{
	struct where *where = &targets->where;

	if (where->running)
		return; /* it is tried again when that ends */
	if (!where->added)
		where->rounds = 0;
	else if (where->rounds++ < ROUNDS_MAX)
		count_all(targets);
}

static void told_of_all(void *arg, struct cgroup_scan *scan, bool finished, bool last)
{
	struct targets *targets = arg;
	struct where *where = &targets->where;

	take_scan(targets, scan, finished);
	if (!last)
		return;
	where->running = false;
	if (has_failed(scan, finished))
		count_later(targets);
	else
		where->failures = 0;
	if (where->again)
		count_all(targets);
	else if (!where->late.active)
		count_children(targets);
}

static void told_of_moved(void *arg, struct cgroup_scan *scan, bool finished, bool last)
{
	struct targets *targets = arg;

	take_scan(targets, scan, finished);
	if (!last)
		return;
	targets->where.moving = false;
	if (has_failed(scan, finished))
		count_later(targets);
	else
		count_children(targets);
}

void targets_count_residents(struct targets *targets)
{
	targets->where.rounds = 0;
	targets->armed = 0;
	count_all(targets);
}

void targets_look_at_moved(void *arg)
{
	struct targets *targets = arg;
	struct where *where = &targets->where;

	if (where->moving) {
		loop_timer_set(targets->loop, &where->moved_timer, loop_now_ns() + NS_PER_S);
		return;
	}
	where->moving = cgroup_scan_begin(targets->urgent, NULL, where->moved, where->moved_count,
					  told_of_moved, targets) == 0;
	if (!where->moving)
		count_later(targets);
	where->moved_count = 0;
	if (where->again)
		targets_count_residents(targets);
}

void targets_end_awaiting(struct targets *targets, const struct container *container)
{
	struct where *where = &targets->where;
	struct awaiting *all = TAKE_PTR(where->awaiting);
	size_t count = where->awaiting_count, kept = 0;

	where->awaiting_count = 0; /* looking at a process adds none */
	for (size_t i = 0; i < count; i++) {
		if (group_container(all[i].group) != container) {
			all[kept++] = all[i];
			continue;
		}
		where->added |= targets_scan_resident(targets, all[i].pid, all[i].start_ticks,
						      all[i].group);
		group_unref(all[i].group);
	}
	where->awaiting = all;
	where->awaiting_count = kept;
	if (!kept && where->overflowed) {
		where->overflowed = false;
		targets_count_residents(targets);
	} else {
		count_children(targets);
	}
}

void targets_where_done(struct targets *targets)
{
	struct where *where = &targets->where;

	loop_timer_cancel(targets->loop, &where->moved_timer);
	loop_timer_cancel(targets->loop, &where->late);
	for (size_t i = 0; i < where->awaiting_count; i++)
		group_unref(where->awaiting[i].group);
	free(where->awaiting);
}
