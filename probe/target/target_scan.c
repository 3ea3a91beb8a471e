// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Scans of all processes of the host: which ones match when the selection changes, and repairs
 * after events were lost.
 */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "proc/proc.h"
#include "target/target_state.h"

/* Period of reading containers' names again; they are renamed seldom. */
#define NAMES_FRESH_NS (15 * NS_PER_S)
/* Period of searching for targets whose end wasn't reported. */
#define CHECK_EVERY_NS (20 * NS_PER_S)
/*
 * Most processes that, chosen at once, wait for their tables before they are sampled; others get
 * tables with their first stack.
 */
#define ARMING_MAX 1024

/* Lets a process wait for its tables, unless too many do. */
static void begin_arming(struct targets *targets, struct target *target)
{
	if (targets->armed++ >= ARMING_MAX)
		return;
	target->arming_ns = loop_now_ns();
	targets_begin_arming(targets);
}

/* Returns whether its stacks are taken now. */
static bool is_sampled(const struct targets *targets, const struct target *target)
{
	struct target_value value;

	return tracer_target_get(targets->tracer, target->pid, &value) == 0 &&
	       value.probes & WANTED_STACKS;
}

/* Decides anew on a process that is a target already. */
static void scan_known(struct targets *targets, struct target *known)
{
	uint32_t probes = known->match.probes, subscribers = known->choice.subscribers;

	if (target_evaluate(targets, known)) {
		if (!known->arming_ns && target_is_walked(targets, known) &&
		    !is_sampled(targets, known))
			begin_arming(targets, known);
		target_tell_kernel(targets, known);
		if (target_is_undecided(known) || known->arming_ns)
			target_look_at(targets, known);
		return;
	}
	known->match.probes = probes;
	known->choice.subscribers = subscribers;
	target_deselect(targets, known);
}

void target_reconsider(struct targets *targets, struct target *target)
{
	scan_known(targets, target);
}

/*
 * Returns whether a process may be wanted, by what is cheap to know: most processes are of no
 * interest.
 */
static bool may_be_wanted(const struct targets *targets, pid_t pid)
{
	const struct selection *selection = &targets->selection;
	const struct id_snooper *ids;
	char comm[COMM_BYTES];
	struct match match;

	for (int i = 0; i < SUBSCRIBERS_MAX; i++) {
		for (size_t k = 0; k < selection->chosen[i].count; k++) {
			if (selection->chosen[i].ids[k].pid == pid)
				return true;
		}
	}
	if (!selection->snoopers || !selection->followers)
		return false;
	size_t count = snoopers_ids(selection->snoopers, &ids);
	for (size_t i = 0; i < count; i++) {
		if (ids[i].pid == pid)
			return true;
	}
	if (proc_comm(pid, comm) < 0)
		return false;
	snoopers_match(selection->snoopers, &(struct identity){.comm = comm}, &match);
	return (match.probes | match.maybe) & selection_wanted(selection);
}

/* Returns whether the kernel's side has a newer incarnation than the table. */
static bool has_begun(const struct targets *targets, pid_t pid, const struct target *known,
		      uint64_t *id)
{
	struct target_value value;

	if (tracer_target_get(targets->tracer, pid, &value) < 0 || (known && known->id >= value.id))
		return false;
	*id = value.id;
	return true;
}

/* Adds a target; false: nobody wants it, or there is no room. */
static bool scan_new(struct targets *targets, pid_t pid, const struct proc_stat *stat, uint64_t id,
		     bool is_there, struct known_cgroup *group)
{
	struct target fresh = {
		.pid = pid,
		.id = id,
		.start_ticks = stat->start_ticks,
		.line_pid = pid,
		.line_start_ticks = stat->start_ticks,
		.whose = job_of(0, 0),
	};

	memcpy(fresh.comm, stat->comm, sizeof(fresh.comm));
	target_set_group(&fresh, group);
	if (!target_evaluate(targets, &fresh)) {
		target_forget_in_kernel(targets, pid, id);
		container_unref(fresh.container);
		group_unref(fresh.group);
		return false;
	}
	struct target *target = target_table_add(targets->table, &fresh);
	if (!target)
		return false;
	if (!is_there && target_is_walked(targets, target))
		begin_arming(targets, target);
	containers_ask(targets->containers, target->group);
	target_tell_kernel(targets, target);
	target_meet(targets, target);
	return true;
}

/* Sets its cgroups, unless the kernel's side reported them. */
static void scan_there(struct targets *targets, struct target *known, struct known_cgroup *group)
{
	if (group) {
		target_set_group(known, group);
		containers_ask(targets->containers, group);
	}
	scan_known(targets, known);
}

/*
 * Looks at a process. `group`: the cgroups of the process that started at `start_ticks`; NULL: not
 * known, any start. Returns whether it is a target now that the kernel's side didn't know.
 */
static bool scan_process(struct targets *targets, pid_t pid, uint64_t start_ticks,
			 struct known_cgroup *group)
{
	struct target *known = target_table_current(targets->table, pid);
	uint64_t id, id_after;
	struct proc_stat stat;

	if (!known && !targets->repairing && !group && !may_be_wanted(targets, pid))
		return false;
	if (has_begun(targets, pid, known, &id)) {
		tracer_read_life(targets->tracer); /* so that it has been reported */
		known = target_table_current(targets->table, pid);
	}
	bool untold = has_begun(targets, pid, known, &id);
	if (proc_stat(pid, &stat) < 0 || (group && stat.start_ticks != start_ticks))
		return false;
	if (untold && !(has_begun(targets, pid, known, &id_after) && id_after == id))
		/* the name may be the next incarnation's, whose event is on its way */
		return false;
	if (untold)
		scan_new(targets, pid, &stat, id, true, group);
	else if (known && known->start_ticks == stat.start_ticks)
		scan_there(targets, known, group);
	else
		return scan_new(targets, pid, &stat, loop_now_ns(), false, group);
	return false;
}

static void scan_one(void *arg, pid_t pid)
{
	scan_process(arg, pid, 0, NULL);
}

bool targets_scan_resident(struct targets *targets, pid_t pid, uint64_t start_ticks,
			   struct known_cgroup *group)
{
	struct target *known = target_table_current(targets->table, pid);
	struct target like = {.group = group};
	struct match match;

	target_match_group(targets, &like, &match);
	return (known || match.probes & selection_wanted(&targets->selection)) &&
	       scan_process(targets, pid, start_ticks, group);
}

static void scan_known_one(void *arg, struct target *known)
{
	scan_known(arg, known);
}

static bool has_names(const struct selection *selection)
{
	const struct name_snooper *names;

	return selection->snoopers && selection->followers &&
	       snoopers_names(selection->snoopers, &names) > 0;
}

static bool has_containers(const struct selection *selection)
{
	const struct container_snooper *containers;

	return selection->snoopers && selection->followers &&
	       snoopers_containers(selection->snoopers, &containers) > 0;
}

static bool has_followers(const struct selection *selection)
{
	return selection->snoopers && selection->followers;
}

/* Looks only at known targets, and at processes that are named themselves. */
static void scan_few(struct targets *targets)
{
	target_table_each(targets->table, scan_known_one, targets);
	for (int i = 0; i < SUBSCRIBERS_MAX; i++) {
		const struct chosen *chosen = &targets->selection.chosen[i];

		for (size_t k = 0; k < chosen->count; k++)
			scan_one(targets, chosen->ids[k].pid);
	}
}

int targets_select(struct targets *targets, const struct selection *selection)
{
	struct selection before = targets->selection;
	int r = 0;

	targets->selection = *selection;
	if (selection->snoopers)
		snoopers_ref(selection->snoopers);
	uint32_t wanted = selection_wanted(selection);
	bool few = !has_followers(selection) ||
		   (has_followers(&before) && before.snoopers == selection->snoopers &&
		    !(wanted & ~selection_wanted(&before)));
	snoopers_unref(before.snoopers);
	/* First, so that processes that start or change during the scan are reported. */
	targets->scanning = true;
	targets->armed = 0;
	targets->by_group = has_containers(selection);
	containers_keep_fresh(targets->containers, wanted ? NAMES_FRESH_NS : 0);
	tracer_by_group(targets->tracer, targets->by_group);
	tracer_follow_new(targets->tracer, true, target_wanted_early(wanted));
	tracer_read_life(targets->tracer);
	if (few)
		scan_few(targets);
	else
		r = proc_each(scan_one, targets);
	tracer_read_life(targets->tracer);
	targets->scanning = false;
	if (!has_names(selection) && !targets->by_group)
		tracer_follow_new(targets->tracer, false, target_wanted_early(wanted));
	if (!few)
		targets_count_residents(targets);
	return r;
}

void targets_rejudge(struct targets *targets)
{
	tracer_follow_new(targets->tracer, true,
			  target_wanted_early(selection_wanted(&targets->selection)));
	targets_count_residents(targets);
}

/* Returns whether a target ended without an event. */
static bool is_gone(const struct target *target)
{
	struct proc_stat stat;
	int r = proc_stat(target->pid, &stat);

	/* Other errors (no descriptor left) say nothing about the process. */
	return r == -ESRCH || (r == 0 && stat.start_ticks != target->start_ticks);
}

static void check_one(void *arg, struct target *target)
{
	struct targets *targets = arg;

	if (!is_gone(target)) {
		target_tell_kernel(targets, target); /* there may be room now */
		return;
	}
	target_forget_in_kernel(targets, target->pid, target->id);
	target_table_end(targets->table, target, loop_now_ns());
}

/* Makes programs targets that began unseen. */
static void repair_targets(struct targets *targets)
{
	struct counters counters;

	tracer_counters(targets->tracer, &counters);
	uint64_t lost = counters.lost[LOSERS_ALL][LOST_LIFE_FULL];
	if (lost == targets->events_lost)
		return;
	targets->events_lost = lost;
	targets->repairing = true;
	proc_each(scan_one, targets);
	targets->repairing = false;
	targets_count_residents(targets);
}

void targets_sweep(struct targets *targets, uint64_t ns)
{
	uint64_t now_ns = loop_now_ns();

	target_log_rest(&targets->log);
	target_table_sweep(targets->table, ns);
	targets_count_room(targets);
	tables_sweep(targets->tables);
	targets_publish(targets);
	repair_targets(targets);
	if (now_ns < targets->checked_ns + CHECK_EVERY_NS)
		return;
	targets->checked_ns = now_ns;
	target_table_each(targets->table, check_one, targets);
}
