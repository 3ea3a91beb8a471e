// SPDX-License-Identifier: GPL-2.0-or-later
/* A target's container, and what that decides. */
#include <stdio.h>
#include <string.h>

#include "container/cgroup.h"
#include "target/target_state.h"

void target_set_group(struct target *target, struct known_cgroup *group)
{
	struct container *container = group_container(group);

	group_ref(group);
	if (container)
		container_ref(container);
	group_unref(target->group);
	container_unref(target->container);
	target->group = group;
	target->container = container;
}

/*
 * Matches the cgroups, and caches that: one set of snoopers decides the same as long as the
 * container's names are the same.
 */
void target_match_group(const struct targets *targets, const struct target *target,
			struct match *match)
{
	const struct snoopers *snoopers = targets->selection.snoopers;
	struct known_cgroup *group = target->group;

	*match = (struct match){0};
	if (!targets->by_group || !group)
		return;
	struct container *container = group_container(group);
	struct identity who = {
		.container = container,
		.unnamed = !group_is_named(group),
		.cgroup = group->path,
	};
	if (who.unnamed || group->judged_by != snoopers_serial(snoopers) ||
	    group->judged_for != container) {
		snoopers_match_container(snoopers, &who, &group->judged);
		group->judged_by = who.unnamed ? 0 : snoopers_serial(snoopers);
		group->judged_for = container;
	}
	*match = group->judged;
}

void target_judge_group(struct targets *targets, const struct cgroup_key *key,
			const struct target *target)
{
	uint32_t wanted = selection_wanted(&targets->selection);
	struct match match;

	if (!targets->by_group || !target->group)
		return;
	target_match_group(targets, target, &match);
	if (match.probes & wanted)
		tracer_judge_group(targets->tracer, key, VERDICT_MATCHES);
	else if (!(match.unnamed & wanted))
		tracer_judge_group(targets->tracer, key, VERDICT_DOES_NOT);
}

struct container_naming {
	struct targets *targets;
	const struct container *before;
	struct container *now;
	bool late; /* it was decided before */
};

/* Decides on a target that was sampled for what its container's names might decide. */
static void decide_on_names(struct targets *targets, struct target *target)
{
	target_evaluate(targets, target);
	if (target->match.pending)
		target_look_at(targets, target);
	else
		target_settle(targets, target);
}

static void rename_one(void *arg, struct target *target)
{
	const struct container_naming *naming = arg;

	if (target->container != naming->before)
		return;
	if (naming->now != naming->before) {
		container_ref(naming->now);
		container_unref(target->container);
		target->container = naming->now;
	}
	target_log_container(&naming->targets->log, target);
	if (target->match.unnamed)
		decide_on_names(naming->targets, target);
	else if (naming->late && naming->targets->by_group && target_is_alive(target))
		target_reconsider(naming->targets, target);
}

void targets_on_named(void *arg, const struct container *before, struct container *now, bool late)
{
	struct targets *targets = arg;
	struct container_naming naming = {targets, before, now, late};

	target_table_each_ever(targets->table, rename_one, &naming);
	targets_end_awaiting(targets, now);
	if (late && targets->by_group)
		targets_rejudge(targets);
}

void targets_on_evicted(void *arg, const struct cgroup_key *key)
{
	struct targets *targets = arg;

	tracer_forget_group(targets->tracer, key);
}

/* The names lie from the cgroup up: "c\0b\0a\0" becomes "/a/b/c". */
static size_t put_path(char *path, const char *names, size_t bytes)
{
	size_t at = bytes, len = 0;

	while (at > 0) {
		size_t end = --at; /* the NUL */

		while (at > 0 && names[at - 1])
			at--;
		path[len++] = '/';
		memcpy(path + len, names + at, end - at);
		len += end - at;
	}
	if (!len)
		path[len++] = '/';
	return len;
}

void targets_on_group(struct targets *targets, const struct group_event *event)
{
	static const char v2[] = "0::", v1[] = "\n1:memory:";
	char text[sizeof(event->names) + 64];
	struct cgroups cgroups;
	size_t len = 0;

	if (event->cut || event->v2_bytes + event->v1_bytes > (int)sizeof(event->names))
		return; /* its processes aren't known */
	memcpy(text, v2, sizeof(v2) - 1);
	len += sizeof(v2) - 1;
	len += put_path(text + len, event->names, event->v2_bytes);
	if (event->key.v1) {
		memcpy(text + len, v1, sizeof(v1) - 1);
		len += sizeof(v1) - 1;
		len += put_path(text + len, event->names + event->v2_bytes, event->v1_bytes);
	}
	text[len++] = '\n';
	cgroups_parse(text, len, &cgroups);
	containers_learn(targets->containers, &event->key, &cgroups.place, cgroups.path);
}

void targets_on_moved(struct targets *targets, const struct life_event *event)
{
	struct where *where = &targets->where;
	pid_t pid = (pid_t)event->tgid;

	if (where->moved_count && where->moved[where->moved_count - 1] == pid)
		return; /* it follows in the next hierarchy */
	if (where->moved_count < MOVED_MAX)
		where->moved[where->moved_count++] = pid;
	else
		where->again = true;
	if (!where->moved_timer.active)
		loop_timer_set(targets->loop, &where->moved_timer, loop_now_ns() + NS_PER_S);
}
