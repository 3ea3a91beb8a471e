// SPDX-License-Identifier: GPL-2.0-or-later
#include "target/target_table.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/map.h"
#include "runtime/made_dump.h"
#include "select/containers.h"
#include "target/target_memory.h"

#define REJECTED_MAX 32768

struct target_key {
	uint64_t id;
	uint64_t pid;
};

struct target_table {
	struct map *all;      /* target_key -> struct target * */
	struct map *current;  /* uint32_t pid -> uint64_t id of who has the pid now */
	struct map *rejected; /* target_key -> uint64_t ns */
	size_t max;
	struct target_table_stats stats;
	struct ended_cuts ended_cuts;
	void (*ended)(void *arg, struct target *target); /* NULL: nobody is told */
	void *ended_arg;
	const struct process_code_ops *code_ops; /* NULL: there are no code_known */
};

static void release_target(const struct target_table *table, struct target *target)
{
	target_memory_drop(target);
	address_space_free(target->space);
	spans_unref(target->spans);
	for (unsigned i = 0; i < RUNTIMES; i++)
		runtime_release(runtime_kinds[i], target->runtimes[i].known);
	made_dump_unref(target->dump);
	if (table->code_ops)
		table->code_ops->free(target->code_known);
	container_unref(target->container);
	group_unref(target->group);
}

static void target_free(const struct target_table *table, struct target *target)
{
	release_target(table, target);
	free(target);
}

int target_table_new(struct target_table **ret, size_t max)
{
	struct target_table *table = calloc(1, sizeof(*table));

	if (!table)
		return -ENOMEM;
	table->max = max * 2;
	int r = map_new(&table->all, sizeof(struct target_key), sizeof(struct target *),
			table->max);
	if (r == 0)
		r = map_new(&table->current, sizeof(uint32_t), sizeof(uint64_t), table->max);
	if (r == 0)
		r = map_new(&table->rejected, sizeof(struct target_key), sizeof(uint64_t),
			    REJECTED_MAX);
	if (r < 0) {
		target_table_free(table);
		return r;
	}
	*ret = table;
	return 0;
}

void target_table_free(struct target_table *table)
{
	const struct target_key *key;
	struct target **target;

	if (!table)
		return;
	if (table->all) {
		map_each (table->all, pos, key, target)
			target_free(table, *target);
	}
	map_free(table->all);
	map_free(table->current);
	map_free(table->rejected);
	free(table);
}

struct target *target_table_find(const struct target_table *table, uint32_t pid, uint64_t id)
{
	struct target_key key = {.id = id, .pid = pid};
	struct target **target = map_get(table->all, &key);

	return target ? *target : NULL;
}

struct target *target_table_current(const struct target_table *table, pid_t pid)
{
	uint32_t key = (uint32_t)pid;
	uint64_t *id = map_get(table->current, &key);

	return id ? target_table_find(table, key, *id) : NULL;
}

void target_table_end(struct target_table *table, struct target *target, uint64_t ns)
{
	uint32_t pid = (uint32_t)target->pid;
	uint64_t *id = map_get(table->current, &pid);

	if (table->ended)
		table->ended(table->ended_arg, target);
	target->state = target_state_ended(target->state);
	target->ended_ns = ns;
	target_memory_drop(target);
	spans_unref(target->spans);
	target->spans = NULL;
	table->stats.ended++;
	if (id && *id == target->id)
		map_del(table->current, &pid);
}

void target_table_keep_code(struct target_table *table, const struct process_code_ops *ops)
{
	table->code_ops = ops;
}

void target_table_fork_code(const struct target_table *table, struct target *fresh,
			    const struct target *before)
{
	if (table->code_ops)
		table->code_ops->fork(fresh->code_known, before->code_known);
}

struct target *target_table_add(struct target_table *table, struct target *like)
{
	struct target_key key = {.id = like->id, .pid = (uint64_t)like->pid};
	uint32_t pid = (uint32_t)like->pid;
	struct target *before = target_table_current(table, like->pid);
	struct target *target = malloc(sizeof(*target)), **slot = NULL;
	uint64_t *current = NULL;

	if (!target) {
		release_target(table, like);
		return NULL;
	}
	*target = *like;
	int r = target->space ? 0 : address_space_new(&target->space);
	if (r == 0)
		r = map_put(table->all, &key, (void **)&slot);
	if (r == 1 && map_put(table->current, &pid, (void **)&current) < 0) {
		map_del(table->all, &key);
		r = -ENOMEM;
	}
	if (r != 1 || !slot || !current) {
		target_free(table, target);
		table->stats.refused++;
		return NULL;
	}
	*slot = target;
	*current = target->id;
	target->state = target_state_of(target->match.pending != 0);
	if (before && before != target && target_is_alive(before))
		target_table_end(table, before, target->id); /* ids are times */
	return target;
}

void target_table_reject(struct target_table *table, pid_t pid, uint64_t id, uint64_t ns)
{
	struct target_key key = {.id = id, .pid = (uint64_t)pid};
	uint64_t *at;

	if (map_put(table->rejected, &key, (void **)&at) >= 0)
		*at = ns;
}

bool target_table_was_rejected(const struct target_table *table, uint32_t pid, uint64_t id)
{
	struct target_key key = {.id = id, .pid = pid};

	return map_get(table->rejected, &key) != NULL;
}

bool target_table_is_crowded(const struct target_table *table)
{
	return map_count(table->rejected) > REJECTED_MAX / 4 * 3 ||
	       map_count(table->all) > table->max / 4 * 3;
}

static void sweep_rejected(struct target_table *table, uint64_t ns)
{
	_cleanup_free_ struct target_key *leaving =
		calloc(map_count(table->rejected) + 1, sizeof(*leaving));
	const struct target_key *key;
	const uint64_t *ended_ns;
	size_t count = 0;

	if (!leaving)
		return;
	map_each (table->rejected, pos, key, ended_ns) {
		if (*ended_ns < ns)
			leaving[count++] = *key;
	}
	for (size_t i = 0; i < count; i++)
		map_del(table->rejected, &leaving[i]);
}

void target_table_sweep(struct target_table *table, uint64_t ns)
{
	_cleanup_free_ struct target **leaving =
		calloc(map_count(table->all) + 1, sizeof(struct target *));
	const struct target_key *key;
	struct target **target;
	bool has_room = map_count(table->all) <= table->max / 2;
	size_t count = 0;

	sweep_rejected(table, ns);
	if (!leaving)
		return;
	map_each (table->all, pos, key, target) {
		if (!target_is_alive(*target) && (*target)->ended_ns < ns &&
		    (!has_room || (*target)->awaited_ns < ns) && !target_is_inspected(*target))
			leaving[count++] = *target;
		address_space_forget((*target)->space, ns);
	}
	for (size_t i = 0; i < count; i++) {
		struct target_key gone = {.id = leaving[i]->id, .pid = (uint64_t)leaving[i]->pid};

		map_del(table->all, &gone);
		ended_cuts_add(&table->ended_cuts, leaving[i], clock_ns(CLOCK_MONOTONIC));
		target_free(table, leaving[i]);
	}
}

void target_table_each(const struct target_table *table, void (*each)(void *arg, struct target *),
		       void *arg)
{
	const struct target_key *key;
	struct target **target;

	map_each (table->all, pos, key, target) {
		if (target_is_alive(*target))
			each(arg, *target);
	}
}

void target_table_each_ever(const struct target_table *table,
			    void (*each)(void *arg, struct target *), void *arg)
{
	const struct target_key *key;
	struct target **target;

	map_each (table->all, pos, key, target)
		each(arg, *target);
}

void target_table_on_end(struct target_table *table, void (*ended)(void *arg, struct target *),
			 void *arg)
{
	table->ended = ended;
	table->ended_arg = arg;
}

void target_table_ended_cuts(const struct target_table *table, uint64_t now_ns,
			     struct ended_cuts_part *sum)
{
	ended_cuts_sum(&table->ended_cuts, now_ns, sum);
}

void target_table_stats(const struct target_table *table, struct target_table_stats *stats)
{
	*stats = table->stats;
}
