// SPDX-License-Identifier: GPL-2.0-or-later
#include "costs/cost_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "proc/proc.h"

#define LIVING_MAX  131072
#define CGROUPS_MAX 65536

/* Who a row is of; the pid 0 stands for those of a cgroup that ended long ago. */
struct row_key {
	uint64_t start_ns;
	struct cgroup_key group; /* of pid 0; else 0 */
	uint64_t pid;
};

struct cost_entry {
	struct cost_row row;
	uint64_t reading; /* the last one that saw it */
	uint64_t order;	  /* of its end; 0: it lives */
};

struct cost_table {
	struct containers *containers;
	struct map *rows;   /* struct row_key -> struct cost_entry */
	struct map *groups; /* struct cgroup_key -> struct known_cgroup *, with a reference */
	uint64_t reading;
	bool expects; /* a reading is under way */
	uint64_t order,
		folded; /* processes that have ended; and those without a row of their own */
	struct host_times host; /* at the last reading */
	struct cost_table_stats stats;
};

int cost_table_new(struct cost_table **ret, struct containers *containers)
{
	struct cost_table *table = calloc(1, sizeof(*table));

	if (!table)
		return -ENOMEM;
	table->containers = containers;
	int r = map_new(&table->rows, sizeof(struct row_key), sizeof(struct cost_entry),
			LIVING_MAX + 2 * COST_ENDED_KEPT + CGROUPS_MAX);
	if (r == 0)
		r = map_new(&table->groups, sizeof(struct cgroup_key),
			    sizeof(struct known_cgroup *), CGROUPS_MAX);
	if (r < 0) {
		cost_table_free(table);
		return r;
	}
	*ret = table;
	return 0;
}

void cost_table_free(struct cost_table *table)
{
	const struct cgroup_key *key;
	struct known_cgroup **group;

	if (!table)
		return;
	if (table->groups) {
		map_each (table->groups, pos, key, group)
			group_unref(*group);
	}
	map_free(table->groups);
	map_free(table->rows);
	free(table);
}

/* ---- readings ---- */

static struct row_key key_of(const struct cost_row *row)
{
	struct row_key key = {.start_ns = row->start_ns, .pid = (uint64_t)row->pid};

	if (!row->pid)
		key.group = row->group;
	return key;
}

static void raise_costs(struct cost_sums *to, const struct cost_sums *now)
{
	for (int i = 0; i < COSTS; i++) {
		if (now->of[i] > to->of[i])
			to->of[i] = now->of[i];
	}
}

static void add_costs(struct cost_sums *to, const struct cost_sums *more)
{
	for (int i = 0; i < COSTS; i++)
		to->of[i] += more->of[i];
}

/* Returns the entry of a process, made anew if need be; NULL: no room. */
static struct cost_entry *entry_of(struct cost_table *table, const struct cost_owner *owner)
{
	struct cost_row row = {
		.pid = (pid_t)owner->tgid,
		.start_ns = owner->start_ns,
		.processes = 1,
	};
	struct row_key key = key_of(&row);
	struct cost_entry *entry;
	int r = map_put(table->rows, &key, (void **)&entry);

	if (r < 0) {
		table->stats.refused++;
		return NULL;
	}
	if (r > 0)
		entry->row = row;
	entry->row.group = owner->group;
	entry->row.is_kernel = owner->is_kernel;
	memcpy(entry->row.comm, owner->comm, sizeof(entry->row.comm));
	return entry;
}

static int learn_group(struct cost_table *table, const struct met_cgroup *met)
{
	struct known_cgroup **slot;
	int r = map_put(table->groups, &met->key, (void **)&slot);

	if (r <= 0)
		return r == -ENOSPC ? 0 : r;
	*slot = containers_place(table->containers, &met->place, met->path);
	if (!*slot)
		map_del(table->groups, &met->key);
	else
		containers_ask(table->containers, *slot);
	return 0;
}

/* Adds a row of a process that ended long ago to that of its cgroup. */
static void fold_row(struct cost_table *table, const struct cost_row *row)
{
	struct cost_row sum = {.group = row->group, .has_ended = true};
	struct row_key key = key_of(&sum);
	struct cost_entry *entry;
	int r = map_put(table->rows, &key, (void **)&entry);

	if (r < 0) {
		table->stats.refused++;
		return;
	}
	if (r > 0)
		entry->row = sum;
	entry->row.processes++;
	add_costs(&entry->row.costs, &row->costs);
}

/* Folds the processes that ended first, so that COST_ENDED_KEPT stay. */
static void fold_old(struct cost_table *table)
{
	_cleanup_free_ struct cost_row *old = NULL;
	const struct cost_entry *entry;
	const struct row_key *key;
	size_t count = 0;

	if (table->expects || table->order - table->folded <= COST_ENDED_KEPT)
		return;
	old = calloc(table->order - table->folded, sizeof(*old));
	if (!old)
		return; /* they stay for now */
	map_each (table->rows, pos, key, entry) {
		if (key->pid && entry->order && entry->order + COST_ENDED_KEPT <= table->order)
			old[count++] = entry->row;
	}
	for (size_t i = 0; i < count; i++) {
		struct row_key gone = key_of(&old[i]);

		map_del(table->rows, &gone);
		fold_row(table, &old[i]);
	}
	table->folded += count;
}

void cost_table_expect(struct cost_table *table, bool expects)
{
	table->expects = expects;
}

int cost_table_end(struct cost_table *table, const struct ended_cost *ended)
{
	struct cost_entry *entry = entry_of(table, &ended->owner);

	if (!entry)
		return -ENOMEM;
	raise_costs(&entry->row.costs, &ended->all);
	if (!entry->order)
		entry->order = ++table->order;
	entry->row.has_ended = true;
	if (table->order - table->folded >= 2 * COST_ENDED_KEPT)
		fold_old(table);
	return 0;
}

/* Notes as ended the processes that two readings didn't see: their record was lost. */
static void end_unseen(struct cost_table *table)
{
	struct cost_entry *entry;
	const struct row_key *key;

	map_each (table->rows, pos, key, entry) {
		if (key->pid && !entry->order && entry->reading + 2 <= table->reading) {
			entry->order = ++table->order;
			entry->row.has_ended = true;
		}
	}
}

int cost_table_take(struct cost_table *table, const struct cost_reading *reading)
{
	int r = 0;

	table->reading++;
	table->host = reading->host;
	for (size_t i = 0; i < reading->count; i++) {
		const struct process_cost *process = &reading->processes[i];
		struct cost_entry *entry = entry_of(table, &process->owner);

		if (!entry)
			continue;
		raise_costs(&entry->row.costs, &process->costs);
		entry->reading = table->reading;
	}
	for (size_t i = 0; i < reading->met_count && r >= 0; i++)
		r = learn_group(table, &reading->met[i]);
	end_unseen(table);
	fold_old(table);
	return r < 0 ? r : 0;
}

struct cgroup_key *cost_table_known(const struct cost_table *table, size_t *count)
{
	struct cgroup_key *keys = calloc(map_count(table->groups) + 1, sizeof(*keys));
	const struct cgroup_key *key;
	struct known_cgroup **group;

	*count = 0;
	if (!keys)
		return NULL;
	map_each (table->groups, pos, key, group)
		keys[(*count)++] = *key;
	return keys;
}

/* ---- rows ---- */

static int compare_rows(const void *a, const void *b)
{
	const struct cost_row *left = a, *right = b;

	if (left->pid != right->pid)
		return left->pid < right->pid ? -1 : 1;
	if (left->start_ns != right->start_ns)
		return left->start_ns < right->start_ns ? -1 : 1;
	return left->pid ? 0 : memcmp(&left->group, &right->group, sizeof(left->group));
}

void cost_rows_done(struct cost_rows *rows)
{
	free(rows->all);
	*rows = (struct cost_rows){0};
}

int cost_table_copy(const struct cost_table *table, struct cost_rows *rows)
{
	const struct cost_entry *entry;
	const struct row_key *key;

	*rows = (struct cost_rows){.time_ns = rows->time_ns, .host = table->host};
	rows->all = calloc(map_count(table->rows) + 1, sizeof(*rows->all));
	if (!rows->all)
		return -ENOMEM;
	map_each (table->rows, pos, key, entry)
		rows->all[rows->count++] = entry->row;
	qsort(rows->all, rows->count, sizeof(*rows->all), compare_rows);
	return 0;
}

static bool is_nothing(const struct cost_sums *costs)
{
	for (int i = 0; i < COSTS; i++) {
		if (costs->of[i])
			return false;
	}
	return true;
}

static void subtract_row(struct cost_row *row, const struct cost_row *before)
{
	for (int i = 0; i < COSTS; i++)
		row->costs.of[i] -= before->costs.of[i] < row->costs.of[i] ? before->costs.of[i]
									   : row->costs.of[i];
	row->processes -= row->pid ? 0 : before->processes;
}

/* Takes away from the row of a cgroup what processes had before that are folded into it now. */
static void subtract_folded(struct cost_rows *rows, const struct cost_row *before)
{
	const struct cost_row sought = {.group = before->group};
	struct cost_row *sum =
		bsearch(&sought, rows->all, rows->count, sizeof(*rows->all), compare_rows);

	if (sum)
		subtract_row(sum, &(struct cost_row){.costs = before->costs});
}

void cost_rows_subtract(struct cost_rows *rows, const struct cost_rows *before)
{
	size_t kept = 0;

	host_times_subtract(&rows->host, &before->host);
	for (size_t i = 0; i < before->count; i++) {
		struct cost_row *row = bsearch(&before->all[i], rows->all, rows->count,
					       sizeof(*rows->all), compare_rows);
		if (row)
			subtract_row(row, &before->all[i]);
		else
			subtract_folded(rows, &before->all[i]);
	}
	for (size_t i = 0; i < rows->count; i++) {
		if (!is_nothing(&rows->all[i].costs))
			rows->all[kept++] = rows->all[i];
	}
	rows->count = kept;
}

static struct known_cgroup *group_of(const struct cost_table *table, const struct cost_row *row)
{
	struct known_cgroup **group = map_get(table->groups, &row->group);

	return group ? *group : NULL;
}

struct container *cost_row_container(const struct cost_table *table, const struct cost_row *row)
{
	const struct known_cgroup *group = group_of(table, row);

	return group ? group_container(group) : NULL;
}

const char *cost_row_path(const struct cost_table *table, const struct cost_row *row)
{
	const struct known_cgroup *group = group_of(table, row);

	return group ? group->path : "";
}

void cost_rows_select(struct cost_rows *rows, const struct cost_table *table,
		      const struct snoopers *snoopers)
{
	size_t kept = 0;

	if (snoopers_empty(snoopers))
		return;
	for (size_t i = 0; i < rows->count; i++) {
		const struct cost_row *row = &rows->all[i];
		const struct known_cgroup *group = group_of(table, row);
		const struct identity who = {
			.line_pid = row->pid,
			.line_start_ticks = proc_ticks_of_ns(row->start_ns),
			.comm = row->comm,
			.container = group ? group_container(group) : NULL,
			.cgroup = group && *group->path ? group->path : NULL,
		};
		struct match match;

		snoopers_match(snoopers, &who, &match);
		if (match.probes)
			rows->all[kept++] = *row;
	}
	rows->count = kept;
}

/* ---- groups ---- */

void cost_row_add(struct cost_row *sum, const struct cost_row *row)
{
	sum->processes += row->processes;
	add_costs(&sum->costs, &row->costs);
}

struct grouping {
	const struct cost_table *table;
	enum cost_group by;
};

/* Returns what rows of a group share, as bytes to compare. */
static int compare_groups(const void *a, const void *b, void *arg)
{
	const struct cost_row *left = a, *right = b;
	const struct grouping *grouping = arg;
	const struct container *of_left = cost_row_container(grouping->table, left);
	const struct container *of_right = cost_row_container(grouping->table, right);
	int order = 0;

	switch (grouping->by) {
	case COST_BY_PID:
		return compare_rows(a, b);
	case COST_BY_COMM:
		order = strncmp(left->comm, right->comm, COMM_BYTES);
		return order ? order : left->is_kernel - right->is_kernel;
	case COST_BY_CGROUP:
		return memcmp(&left->group, &right->group, sizeof(left->group));
	case COST_BY_CONTAINER:
		return strcmp(of_left ? of_left->place.id : "", of_right ? of_right->place.id : "");
	case COST_BY_POD:
		return strcmp(of_left ? of_left->place.pod_uid : "",
			      of_right ? of_right->place.pod_uid : "");
	case COST_BY_NONE:
		break;
	}
	return 0;
}

int cost_rows_group(struct cost_rows *rows, const struct cost_table *table, enum cost_group by)
{
	struct grouping grouping = {table, by};
	size_t kept = 0;

	if (by == COST_BY_PID)
		return 0;
	qsort_r(rows->all, rows->count, sizeof(*rows->all), compare_groups, &grouping);
	for (size_t i = 0; i < rows->count; i++) {
		struct cost_row *row = &rows->all[i], *sum = kept ? &rows->all[kept - 1] : NULL;

		if (!sum || compare_groups(sum, row, &grouping)) {
			rows->all[kept++] = *row;
			continue;
		}
		cost_row_add(sum, row);
		sum->has_ended = sum->has_ended && row->has_ended;
	}
	rows->count = kept;
	return 0;
}

void cost_table_stats(const struct cost_table *table, struct cost_table_stats *stats)
{
	const struct cost_entry *entry;
	const struct row_key *key;

	*stats = table->stats;
	stats->cgroups = map_count(table->groups);
	map_each (table->rows, pos, key, entry) {
		stats->processes += key->pid && !entry->order;
		stats->ended += entry->order != 0;
	}
}
