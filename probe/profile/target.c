// SPDX-License-Identifier: GPL-2.0-only
#include "profile/target.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "proc/proc.h"
#include "profile/examine.h"
#include "profile/kind.h"
#include "profile/target_state.h"

/* Maps of a process whose addresses stay unknown are not read again and again. */
#define RETRY_NS (5 * NS_PER_MS)
/* Maps read this shortly before the end of an exec may be the new program's already. */
#define EXEC_NS	 (50 * NS_PER_MS)
#define HUNG_MAX 1024
/* Processes that are looked at as soon as they begin; of the others the first stack is waited for.
 */
#define EAGER_EVERY_NS (10 * NS_PER_MS)
#define EAGER_BURST    32

static void publish(void *arg)
{
	struct targets *targets = arg;

	targets->publishing_posted = false;
	targets_publish(targets);
}

static void tables_changed(void *arg)
{
	struct targets *targets = arg;

	if (!targets->publishing_posted)
		loop_post(targets->loop, &targets->publishing);
	targets->publishing_posted = true;
}

static void retry(void *arg);

int targets_new(struct targets **ret, struct loop *loop, struct tracer *tracer,
		struct symbol_files *files, struct worker *urgent, size_t max)
{
	struct targets *targets = calloc(1, sizeof(*targets));

	if (!targets)
		return -ENOMEM;
	targets->tracer = tracer;
	targets->files = files;
	targets->urgent = urgent;
	targets->loop = loop;
	targets->publishing = (struct loop_call){.run = publish, .arg = targets};
	targets->retry = (struct loop_timer){.expired = retry, .arg = targets};
	targets->eager = (struct rate){.every_ns = EAGER_EVERY_NS, .burst = EAGER_BURST};
	int r = target_table_new(&targets->table, max);
	if (r == 0)
		r = tables_new(&targets->tables, urgent, tables_changed, targets);
	if (r == 0)
		r = map_new(&targets->hung, sizeof(struct process_key), 1, HUNG_MAX);
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
	loop_timer_cancel(targets->loop, &targets->retry);
	target_table_free(targets->table);
	tables_free(targets->tables);
	map_free(targets->hung);
	snoopers_unref(targets->selection.snoopers);
	free(targets);
}

const struct target_table *targets_table(const struct targets *targets)
{
	return targets->table;
}

void target_forget_in_kernel(struct targets *targets, pid_t pid, uint64_t id)
{
	struct target_value now;

	if (tracer_target_get(targets->tracer, pid, &now) == 0 && now.id == id)
		tracer_target_del(targets->tracer, pid);
}

static bool is_same(const struct target_value *a, const struct target_value *b)
{
	return a->id == b->id && a->probes == b->probes && a->spans == b->spans &&
	       a->spans_count == b->spans_count;
}

static void tell_kernel(struct targets *targets, const struct target *target, bool may_add)
{
	const struct spans *spans = target->spans;
	struct target_value now = {0}, wanted = {.id = target->id};

	if (spans) {
		wanted.spans = spans->start;
		wanted.spans_count = spans->count;
	}
	for (uint32_t probe = 0; probe < PROBE_COUNT; probe++) {
		if (target->undecided || targets_subscribers(targets, target, probe))
			wanted.probes |= kinds_built() & 1u << probe;
	}
	bool there = tracer_target_get(targets->tracer, target->pid, &now) == 0;
	if (there ? now.id > target->id : !may_add)
		return;
	wanted.unread = there ? now.unread : !space_read_ns(target->space);
	bool nobodys = !wanted.probes && !target->waiting;
	if (target->arming)
		wanted.probes = 0;
	if (nobodys)
		target_forget_in_kernel(targets, target->pid, target->id);
	else if ((!there || !is_same(&now, &wanted)) &&
		 tracer_target_set(targets->tracer, target->pid, &wanted, !there) == -ENOSPC)
		targets->stats.refused++;
}

void target_tell_kernel(struct targets *targets, const struct target *target)
{
	tell_kernel(targets, target, true);
}

/* What the kernel told of itself: if it isn't there any more, it has ended or found no room. */
static void correct_kernel(struct targets *targets, const struct target *target)
{
	tell_kernel(targets, target, false);
}

uint32_t targets_subscribers(const struct targets *targets, const struct target *target,
			     uint32_t probe)
{
	if (target->rejected)
		return 0;
	uint32_t followers = target->probes & 1u << probe ? targets->selection.followers : 0;
	return followers | (target->subscribers & ~target->waiting);
}

/* It did not match: what was sampled of it is nobody's. */
static void reject(struct targets *targets, struct target *target)
{
	target->rejected = true;
	target_forget_in_kernel(targets, target->pid, target->id);
	target_table_end(targets->table, target, loop_now_ns());
}

void target_deselect(struct targets *targets, struct target *target)
{
	target_forget_in_kernel(targets, target->pid, target->id);
	target_table_end(targets->table, target, loop_now_ns());
}

/* ---- looking at a process ---- */

static struct symbol_file *file_of(struct targets *targets, struct examination *e, size_t i,
				   struct symbol_root *root, struct symbol_file *before)
{
	const struct mapping *mapping = &e->maps.mappings[i];
	struct opened *opened = &e->opened[i];

	if (mapping->kind == MAPPING_VDSO)
		return symbol_files_vdso(targets->files);
	if (mapping->kind != MAPPING_FILE)
		return NULL;
	if (opened->again && before)
		return symbol_file_ref(before);
	if (!opened->known)
		return symbol_file_nameless(mapping->path);
	return symbol_files_get(targets->files, &opened->fd, &opened->stat, mapping->path, root,
				e->match.debugging_dir);
}

static void take_maps(struct targets *targets, struct target *target, struct examination *e)
{
	size_t count = e->maps.count;
	_cleanup_free_ struct symbol_file **opened = calloc(count, sizeof(struct symbol_file *));
	struct symbol_root *root = NULL;

	if (e->other_root)
		root = symbol_root_new(&e->root_fd, &e->root_stat);
	for (size_t i = 0; opened && i < count; i++)
		opened[i] = file_of(targets, e, i, root, i ? opened[i - 1] : NULL);
	symbol_root_unref(root);
	if (opened && space_update(target->space, &e->maps, opened, e->began_ns) == 0)
		return;
	for (size_t i = 0; opened && i < count; i++)
		symbol_file_unref(opened[i]);
}

/* Whether the maps that were read are this incarnation's. */
static bool are_its_maps(const struct target *target, const struct examination *e)
{
	uint64_t margin = target->ended_by_exec ? EXEC_NS : 0;

	return e->error == 0 && e->maps.count &&
	       (target->alive || e->ended_ns + margin < target->ended_ns);
}

static void decide(struct targets *targets, struct target *target, const struct examination *e,
		   bool finished)
{
	target->undecided = false;
	if (finished) {
		target->judged_by = snoopers_serial(e->snoopers);
		target->judged_probes = e->match.probes;
		target->probes |= e->match.probes;
	} else if (target->probes_before) {
		target->probes |= target->judged_probes; /* nothing better is known */
	}
	if (target->probes || target->subscribers)
		correct_kernel(targets, target);
	else if (!target->probes_before)
		reject(targets, target);
	if (!target->rejected && !target->probes && !target->subscribers) {
		target->probes = target->probes_before; /* what was sampled until now was wanted */
		target_deselect(targets, target);
	}
}

static void remember_hung(struct targets *targets, const struct target *target)
{
	struct process_key key = {(uint64_t)target->pid, target->start_ticks};
	void *value;

	if (map_put(targets->hung, &key, &value) == -ENOSPC)
		map_clear(targets->hung);
}

static void examined(void *arg, struct examination *e, bool finished)
{
	struct targets *targets = arg;

	tracer_read_life(targets->tracer); /* it may have become another meanwhile */
	struct target *target = target_table_find(targets->table, (uint32_t)e->pid, e->id);
	if (!target)
		return;
	target->examining = false;
	if (!finished) {
		target->hangs = true;
		targets->stats.unreadable++;
		remember_hung(targets, target);
	}
	if (target->undecided && finished && e->snoopers != targets->selection.snoopers)
		target_look_at(targets, target); /* it answered what was asked before */
	else if (target->undecided)
		decide(targets, target, e, finished);
	if (finished && !target->rejected && are_its_maps(target, e)) {
		take_maps(targets, target, e);
		if (space_read_ns(target->space) >= target->uncovered_ns)
			target->uncovered_ns = 0;
		target_publish(targets, target);
	} else if (!target->examining) {
		target_give_up_arming(targets, target);
	}
}

void target_look_at(struct targets *targets, struct target *target)
{
	struct process_key key = {(uint64_t)target->pid, target->start_ticks};
	struct examination question = {
		.pid = target->pid,
		.id = target->id,
		.start_ticks = target->start_ticks,
		.snoopers = targets->selection.snoopers,
		.line_pid = target->line_pid,
		.line_start_ticks = target->line_start_ticks,
		.done = examined,
		.arg = targets,
	};

	if (target->examining || !target->alive)
		return;
	memcpy(question.comm, target->comm, sizeof(question.comm));
	if (target->hangs || map_get(targets->hung, &key)) {
		target->hangs = true;
		if (target->undecided)
			decide(targets, target, &question, false);
		return;
	}
	if (examine(targets->urgent, &question) < 0)
		return; /* no memory: its next new stack asks again */
	target->examining = true;
	target->retry_ns = loop_now_ns() + RETRY_NS;
}

void target_meet(struct targets *targets, struct target *target)
{
	if (target->undecided || target->arming ||
	    (!space_read_ns(target->space) && rate_take(&targets->eager, loop_now_ns())))
		target_look_at(targets, target);
}

/* ---- who matches ---- */

static bool is_listed(const struct chosen *chosen, const struct target *target)
{
	for (size_t i = 0; i < chosen->count; i++) {
		if (chosen->ids[i].pid == target->line_pid &&
		    chosen->ids[i].start_ticks == target->line_start_ticks)
			return true;
	}
	return false;
}

/* Who chose it, or what it descends from. */
static void find_choosers(const struct selection *selection, struct target *target)
{
	uint32_t inherited = target->inherited;

	target->inherited = 0;
	target->subscribers = 0;
	target->waiting = 0;
	for (int i = 0; i < SUBSCRIBERS_MAX; i++) {
		const struct chosen *chosen = &selection->chosen[i];
		uint32_t bit = 1u << i;

		if (chosen->across_exec && inherited & bit)
			target->inherited |= bit;
		else if (!is_listed(chosen, target))
			continue;
		else if (chosen->from_exec)
			target->waiting |= bit;
		target->subscribers |= bit;
	}
}

bool target_evaluate(const struct targets *targets, struct target *target)
{
	struct identity who = {target->line_pid, target->line_start_ticks, target->comm};
	const struct selection *selection = &targets->selection;
	struct match match = {0};

	if (selection->snoopers && selection->followers)
		snoopers_match(selection->snoopers, &who, &match);
	if (!target->undecided)
		target->probes_before = target->alive ? target->probes : 0;
	target->probes = match.probes;
	target->undecided = match.maybe != 0;
	if (target->undecided && target->judged_by == snoopers_serial(selection->snoopers)) {
		target->probes |= target->judged_probes;
		target->undecided = false;
	}
	find_choosers(selection, target);
	return target->probes || target->undecided || target->subscribers;
}

static bool is_own_line(const struct target *target)
{
	return target->line_pid == target->pid && target->line_start_ticks == target->start_ticks;
}

/* What the name alone tells of a program spares the next ones of that name their event. */
static void judge(struct targets *targets, const struct life_event *event)
{
	const struct selection *selection = &targets->selection;
	struct match match;

	if (event->kind != LIFE_EXEC || event->verdict || targets->scanning ||
	    !selection->snoopers || !selection->followers)
		return;
	snoopers_match(selection->snoopers, &(struct identity){.comm = event->comm}, &match);
	if (!match.probes && !match.maybe)
		tracer_judge(targets->tracer, event->comm, VERDICT_DOES_NOT);
	else if (!match.maybe)
		tracer_judge(targets->tracer, event->comm, VERDICT_MATCHES);
}

/* Its stacks until now are known to be nobody's. */
static void refuse(struct targets *targets, const struct target *fresh)
{
	struct target *current = target_table_current(targets->table, fresh->pid);

	target_forget_in_kernel(targets, fresh->pid, fresh->id);
	target_table_reject(targets->table, fresh->pid, fresh->id, loop_now_ns());
	if (current && current->id < fresh->id)
		target_table_end(targets->table, current, fresh->id); /* ids are times */
}

/* An incarnation that the kernel told of: like its predecessor (or parent) where there is one. */
static void begin(struct targets *targets, const struct life_event *event, struct target *before)
{
	struct target fresh = {
		.pid = (pid_t)event->tgid,
		.id = event->id,
		.start_ticks = proc_ticks_of_ns(event->start_ns),
	};

	memcpy(fresh.comm, event->comm, sizeof(fresh.comm));
	fresh.line_pid = fresh.pid;
	fresh.line_start_ticks = fresh.start_ticks;
	fresh.inherited = before ? before->subscribers : 0;
	if (before && (event->kind != LIFE_EXEC || is_own_line(before))) {
		fresh.line_pid = before->line_pid;
		fresh.line_start_ticks = before->line_start_ticks;
	}
	judge(targets, event);
	if (!target_evaluate(targets, &fresh)) {
		refuse(targets, &fresh);
		return;
	}
	if (before && event->kind != LIFE_EXEC && space_copy(&fresh.space, before->space) < 0)
		fresh.space = NULL;
	if (before && event->kind != LIFE_EXEC && fresh.space)
		fresh.spans = spans_ref(before->spans);
	struct target *target = target_table_add(targets->table, &fresh);
	if (!target)
		return;
	correct_kernel(targets, target);
	if (target->undecided ||
	    (!space_read_ns(target->space) && rate_take(&targets->eager, loop_now_ns())))
		target_look_at(targets, target);
}

void targets_on_life(struct targets *targets, const struct life_event *event)
{
	uint32_t from = event->kind == LIFE_FORK ? event->parent : event->tgid;
	uint64_t old_id = event->kind == LIFE_EXIT ? event->id : event->old_id;
	struct target *before = old_id ? target_table_find(targets->table, from, old_id) : NULL;

	if (event->kind == LIFE_EXEC && before)
		before->ended_by_exec = true;
	if (event->kind != LIFE_EXIT)
		begin(targets, event, before);
	before = old_id ? target_table_find(targets->table, from, old_id) : NULL;
	if (before && before->alive && event->kind != LIFE_FORK)
		target_table_end(targets->table, before, event->time_ns);
}

/* Whether all that a stack needs is known of its process. That a return address lies nowhere says
 * nothing: code without frame pointers leaves anything where they should be. */
static bool is_covered(const struct target *target, const struct stack *stack,
		       const uint64_t *words)
{
	struct code code;

	if (space_read_ns(target->space) >= stack->time_ns)
		return true;
	if (space_exec_pages(target->space) != stack->exec_pages &&
	    target->read_for_pages != stack->exec_pages)
		return false;
	for (size_t i = 0; i < stack->words_count; i++) {
		if (words[i] >> FRAME_KIND_SHIFT == FRAME_NATIVE &&
		    space_find(target->space, words[i] & FRAME_ADDRESS, stack->time_ns, &code) ==
			    -ENOENT)
			return false;
	}
	return true;
}

void targets_on_stack(struct targets *targets, const struct stack *stack, const uint64_t *words,
		      bool urgent)
{
	struct target *target =
		target_table_find(targets->table, stack->key.tgid, stack->target_id);

	if (!target || !target->alive || target->rejected || is_covered(target, stack, words))
		return;
	target->read_for_pages = stack->exec_pages;
	if (!target->examining && (urgent || loop_now_ns() >= target->retry_ns)) {
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

	if (!target->uncovered_ns || !target->alive || target->hangs)
		return;
	if (!target->examining && loop_now_ns() >= target->retry_ns) {
		target->uncovered_ns = 0;
		target_look_at(targets, target);
	} else if (!targets->retry.active) {
		loop_timer_set(targets->loop, &targets->retry, loop_now_ns() + RETRY_NS);
	}
}

static void retry(void *arg)
{
	struct targets *targets = arg;

	target_table_each(targets->table, retry_one, targets);
}

struct visit {
	void (*each)(void *arg, const struct target *);
	void *arg;
};

static void visit_decided(void *arg, struct target *target)
{
	const struct visit *visit = arg;

	if (!target->undecided)
		visit->each(visit->arg, target);
}

void targets_each(const struct targets *targets, void (*each)(void *arg, const struct target *),
		  void *arg)
{
	struct visit visit = {each, arg};

	target_table_each(targets->table, visit_decided, &visit);
}

static void count_alive(void *arg, const struct target *target)
{
	struct targets_stats *stats = arg;

	stats->alive++;
	stats->unread += target->arming || (target->examining && !space_read_ns(target->space));
}

void targets_stats(const struct targets *targets, struct targets_stats *stats)
{
	*stats = targets->stats;
	target_table_stats(targets->table, &stats->table);
	tables_stats(targets->tables, &stats->tables);
	targets_each(targets, count_alive, stats);
}
