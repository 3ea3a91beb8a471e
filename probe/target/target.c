// SPDX-License-Identifier: GPL-2.0-or-later
#include "target/target.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proc/proc.h"
#include "runtime/made_dump.h"
#include "target/target_memory.h"
#include "target/target_state.h"

#define ROOM_MAX (64u << 20) /* for mappings of each user's processes */
/* Rate of processes that are inspected as soon as they begin; others are with their first stack. */
#define EAGER_EVERY_NS (10 * NS_PER_MS)
#define EAGER_BURST    32

static void run_publishing(void *arg)
{
	struct targets *targets = arg;

	targets->publishing_posted = false;
	targets_publish(targets);
	target_make_rows(targets); /* more may be near to what was made */
}

static void look_late(void *arg)
{
	targets_publish(arg);
}

static void tables_changed(void *arg)
{
	struct targets *targets = arg;

	if (!targets->publishing_posted)
		loop_post(targets->loop, &targets->publishing);
	targets->publishing_posted = true;
}

static void log_end(void *arg, struct target *target)
{
	struct targets *targets = arg;
	struct target *next =
		target->ended_by_exec ? target_table_current(targets->table, target->pid) : NULL;

	if (next && next != target && !target_is_undecided(next))
		target_log_exec(&targets->log, target, next);
	target_log_probes(&targets->log, target, 0);
}

int targets_new(struct targets **ret, struct loop *loop, struct tracer *tracer,
		struct symbol_files *files, struct containers *containers, struct worker *urgent,
		size_t max)
{
	struct containers_events events = {targets_on_evicted, targets_on_named, NULL};
	struct targets *targets = calloc(1, sizeof(*targets));

	if (!targets)
		return -ENOMEM;
	targets->tracer = tracer;
	targets->files = files;
	targets->urgent = urgent;
	targets->containers = containers;
	events.arg = targets;
	containers_on(containers, &events);
	targets->loop = loop;
	targets->publishing =
		(struct loop_call){.run = run_publishing, .arg = targets, .name = "targets"};
	targets->late =
		(struct loop_timer){.expired = look_late, .arg = targets, .name = "targets"};
	targets->retry =
		(struct loop_timer){.expired = target_retry, .arg = targets, .name = "targets"};
	targets->begun =
		(struct loop_timer){.expired = targets_ask_late, .arg = targets, .name = "targets"};
	targets->making =
		(struct loop_timer){.expired = target_make_rows, .arg = targets, .name = "targets"};
	targets->eager = (struct rate){.every_ns = EAGER_EVERY_NS, .burst = EAGER_BURST};
	targets->where.moved_timer = (struct loop_timer){
		.expired = targets_look_at_moved, .arg = targets, .name = "targets"};
	targets->where.late = (struct loop_timer){
		.expired = targets_count_late, .arg = targets, .name = "targets"};
	int r = target_log_init(&targets->log, loop);
	if (r == 0)
		r = target_table_new(&targets->table, max);
	if (r == 0)
		target_table_on_end(targets->table, log_end, targets);
	if (r == 0)
		r = tables_new(&targets->tables, urgent, tables_changed, targets);
	if (r == 0)
		r = shares_new(&targets->room, ROOM_MAX);
	if (r < 0) {
		targets_free(targets);
		return r;
	}
	*ret = targets;
	return 0;
}

void targets_free(struct targets *targets)
{
	if (!targets)
		return;
	loop_unpost(targets->loop, &targets->publishing);
	loop_timer_cancel(targets->loop, &targets->late);
	loop_timer_cancel(targets->loop, &targets->retry);
	loop_timer_cancel(targets->loop, &targets->begun);
	loop_timer_cancel(targets->loop, &targets->making);
	targets_where_done(targets);
	containers_on(targets->containers, &(struct containers_events){0});
	target_table_free(targets->table);
	target_log_done(&targets->log);
	tables_free(targets->tables);
	shares_free(targets->room);
	snoopers_unref(targets->selection.snoopers);
	free(targets);
}

void targets_keep_code(struct targets *targets, const struct process_code_ops *ops)
{
	target_table_keep_code(targets->table, ops);
}

const struct target_table *targets_table(const struct targets *targets)
{
	return targets->table;
}

static bool is_own_line(const struct target *target)
{
	return target->line_pid == target->pid && target->line_start_ticks == target->start_ticks;
}

/* Rejects a program: its stacks until now are dropped. */
static void reject_program(struct targets *targets, const struct target *fresh)
{
	struct target *current = target_table_current(targets->table, fresh->pid);

	container_unref(fresh->container);
	group_unref(fresh->group);
	target_forget_in_kernel(targets, fresh->pid, fresh->id);
	target_table_reject(targets->table, fresh->pid, fresh->id, loop_now_ns());
	if (current && current->id < fresh->id)
		target_table_end(targets->table, current, fresh->id); /* ids are times */
}

/* Takes over what is in its memory from its parent, or from itself under another name. */
static void inherit_memory(const struct targets *targets, struct target *fresh,
			   const struct target *before)
{
	fresh->forked_from = fresh->pid == before->pid ? before->forked_from : before->pid;
	fresh->spans = spans_ref(before->spans);
	fresh->program = before->program;
	if (fresh->pid == before->pid) {
		target_memory_share(fresh, before);
		fresh->dump = made_dump_ref(before->dump);
	}
	for (unsigned i = 0; i < RUNTIMES; i++)
		fresh->runtimes[i].known = runtime_ref(before->runtimes[i].known);
	target_table_fork_code(targets->table, fresh, before);
}

static void inherit_judgement(struct target_match *child, const struct target_match *parent)
{
	child->parents_by = parent->judged_by ? parent->judged_by : parent->parents_by;
	child->parents_probes = parent->judged_by ? parent->judged_probes : parent->parents_probes;
}

/*
 * Places a process in cgroups. Unknown ones decide nothing for good: the process is looked up soon.
 * A child is where its parent is, most likely.
 */
static void find_group(struct targets *targets, const struct life_event *event,
		       const struct target *before, struct target *fresh)
{
	struct known_cgroup *group = containers_find(targets->containers, &event->group);

	if (!group && targets->by_group)
		targets_on_moved(targets, event);
	if (!group && before && event->kind == LIFE_FORK)
		group = before->group;
	target_set_group(fresh, group);
}

/*
 * Adds an incarnation that the kernel reported, like its predecessor (or parent) if there is one.
 */
static void begin_incarnation(struct targets *targets, const struct life_event *event,
			      struct target *before)
{
	struct target fresh = {
		.pid = (pid_t)event->tgid,
		.id = event->id,
		.start_ticks = proc_ticks_of_ns(event->start_ns),
	};

	memcpy(fresh.comm, event->comm, sizeof(fresh.comm));
	fresh.line_pid = fresh.pid;
	fresh.line_start_ticks = fresh.start_ticks;
	fresh.choice.inherited = before ? before->choice.subscribers : 0;
	fresh.whose = before ? before->whose : job_of(0, 0); /* until it is inspected */
	fresh.root_known = before && before->root_known;
	fresh.root_elsewhere = before ? before->root_elsewhere : 0;
	fresh.netns_id = before ? before->netns_id : 0;
	if (before && (event->kind != LIFE_EXEC || is_own_line(before))) {
		fresh.line_pid = before->line_pid;
		fresh.line_start_ticks = before->line_start_ticks;
	}
	if (before && event->kind == LIFE_FORK)
		inherit_judgement(&fresh.match, &before->match);
	fresh.ns_pid = (pid_t)event->ns_pid;
	find_group(targets, event, before, &fresh);
	target_judge(targets, event, &fresh);
	if (!target_evaluate(targets, &fresh)) {
		reject_program(targets, &fresh);
		return;
	}
	if (before && event->kind != LIFE_EXEC)
		target_copy_space(targets, &fresh, before);
	if (before && event->kind != LIFE_EXEC && fresh.space)
		inherit_memory(targets, &fresh, before);
	struct target *target = target_table_add(targets->table, &fresh);
	if (!target)
		return;
	containers_ask(targets->containers, target->group);
	target_correct_kernel(targets, target);
	target_meet(targets, target);
}

void targets_on_life(struct targets *targets, const struct life_event *event)
{
	uint32_t from = event->kind == LIFE_FORK ? event->parent : event->tgid;
	uint64_t old_id = event->kind == LIFE_EXIT ? event->id : event->old_id;
	struct target *before = old_id ? target_table_find(targets->table, from, old_id) : NULL;

	if (event->kind == LIFE_EXEC && before)
		before->ended_by_exec = true;
	if (event->kind != LIFE_EXIT)
		begin_incarnation(targets, event, before);
	before = old_id ? target_table_find(targets->table, from, old_id) : NULL;
	if (before && target_is_alive(before) && event->kind != LIFE_FORK)
		target_table_end(targets->table, before, event->time_ns);
}

struct visit {
	void (*each)(void *arg, const struct target *);
	void *arg;
};

static void visit_decided(void *arg, struct target *target)
{
	const struct visit *visit = arg;

	if (!target_is_undecided(target))
		visit->each(visit->arg, target);
}

void targets_each(const struct targets *targets, void (*each)(void *arg, const struct target *),
		  void *arg)
{
	struct visit visit = {each, arg};

	target_table_each(targets->table, visit_decided, &visit);
}

struct users {
	uint64_t first;
	bool several;
};

static void meet_user(void *arg, struct target *target)
{
	struct users *users = arg;

	if (!target->whose)
		return;
	users->several |= users->first && users->first != target->whose;
	users->first = target->whose;
}

bool targets_have_users(const struct targets *targets)
{
	struct users users = {0};

	target_table_each(targets->table, meet_user, &users);
	return users.several;
}

static void count_alive(void *arg, const struct target *target)
{
	struct targets_stats *stats = arg;

	stats->alive++;
	stats->unread += target->arming_ns ||
			 (target_is_inspected(target) && !address_space_read_ns(target->space));
}

void targets_stats(const struct targets *targets, struct targets_stats *stats)
{
	*stats = targets->stats;
	target_table_stats(targets->table, &stats->table);
	tables_stats(targets->tables, &stats->tables);
	targets_each(targets, count_alive, stats);
}
