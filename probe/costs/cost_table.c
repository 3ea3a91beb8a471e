// SPDX-License-Identifier: GPL-2.0-or-later
#include "costs/cost_table_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/map.h"

#define LIVING_MAX  131072
#define CGROUPS_MAX 65536

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
	if (table->rows) {
		const struct row_key *row;
		struct cost_entry *entry;

		map_each (table->rows, pos, row, entry)
			free(entry->more);
	}
	map_free(table->rows);
	free(table->cpus);
	keyed_counts_done(&table->pairs);
	keyed_counts_done(&table->evictions);
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
	if (r > 0 || owner->has_execed) { /* an orphan keeps its first parent */
		entry->row.forker = (pid_t)owner->forker;
		entry->row.forker_start_ns = owner->forker_start_ns;
	}
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

/* Adds a row of a process that ended long ago to that of its cgroup. Takes over `more`. */
static void fold_row(struct cost_table *table, const struct cost_row *row, struct cost_more *more)
{
	struct cost_row sum = {.group = row->group, .has_ended = true};
	struct row_key key = key_of(&sum);
	struct cost_entry *entry;
	int r = map_put(table->rows, &key, (void **)&entry);

	if (r < 0) {
		table->stats.refused++;
		free(more);
		return;
	}
	if (r > 0)
		entry->row = sum;
	entry->row.processes++;
	cost_sums_add(&entry->row.costs, &row->costs);
	if (!entry->more) {
		entry->more = more;
	} else if (more) {
		cost_more_add(entry->more, more);
		free(more);
	}
}

void cost_table_fold(struct cost_table *table)
{
	_cleanup_free_ struct cost_row *old = NULL;
	const struct cost_entry *entry;
	const struct row_key *key;
	size_t count = 0;

	if (cost_table_unfolded(table) <= COST_ENDED_KEPT)
		return;
	old = calloc(cost_table_unfolded(table), sizeof(*old));
	if (!old)
		return; /* they stay for now */
	map_each (table->rows, pos, key, entry) {
		if (key->pid && entry->order && entry->order + COST_ENDED_KEPT <= table->order)
			old[count++] = entry->row;
	}
	for (size_t i = 0; i < count; i++) {
		struct row_key gone = key_of(&old[i]);
		struct cost_entry *ended = map_get(table->rows, &gone);
		struct cost_more *more = ended->more;

		map_del(table->rows, &gone);
		fold_row(table, &old[i], more);
	}
	table->folded += count;
}

void cost_table_hold(struct cost_table *table, bool holds)
{
	table->holds = holds;
}

uint64_t cost_table_ends(const struct cost_table *table)
{
	return table->order;
}

uint64_t cost_table_unfolded(const struct cost_table *table)
{
	return table->order - table->folded;
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
	entry->row.rss_bytes = 0;
	if (!table->holds && cost_table_unfolded(table) >= 2 * COST_ENDED_KEPT)
		cost_table_fold(table);
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
			entry->row.rss_bytes = 0;
		}
	}
}

/* ---- what programs of ours count ---- */

static void raise_more(struct cost_more *to, const struct cost_more *now)
{
	for (int i = 0; i < COSTS_MORE; i++) {
		if (now->of[i] > to->of[i])
			to->of[i] = now->of[i];
	}
}

static int take_counted(struct cost_table *table, const struct counted_cost *counted)
{
	const struct row_key key = {.start_ns = counted->key.start_ns, .pid = counted->key.tgid};

	if (!key.pid) {
		raise_more(&table->idle, &counted->more);
		return 0;
	}
	struct cost_entry *entry = map_get(table->rows, &key);
	if (!entry)
		return 0; /* younger than the reading */
	if (!entry->more)
		entry->more = calloc(1, sizeof(*entry->more));
	if (!entry->more)
		return -ENOMEM;
	raise_more(entry->more, &counted->more);
	return 0;
}

int cost_cpus_replace(struct softirq_counts **to, size_t *to_count,
		      const struct softirq_counts *from, size_t count)
{
	struct softirq_counts *copy;

	if (!from)
		return 0;
	copy = malloc((count + 1) * sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	memcpy(copy, from, count * sizeof(*copy));
	free(*to);
	*to = copy;
	*to_count = count;
	return 0;
}

static int take_counts(struct cost_table *table, const struct cost_counts *counts)
{
	int r = cost_cpus_replace(&table->cpus, &table->cpus_count, counts->cpus,
				  counts->cpus_count);

	if (r == 0)
		r = keyed_counts_copy(&table->pairs, &counts->pairs);
	if (r == 0)
		r = keyed_counts_copy(&table->evictions, &counts->evictions);
	for (size_t i = 0; i < counts->count && r == 0; i++)
		r = take_counted(table, &counts->all[i]);
	return r;
}

bool cost_table_has_ended(const struct cost_table *table, const struct cost_counter_key *key,
			  uint64_t ends)
{
	const struct row_key row = {.start_ns = key->start_ns, .pid = key->tgid};
	const struct cost_entry *entry = map_get(table->rows, &row);

	return entry && entry->order && entry->order <= ends;
}

void cost_table_clear(struct cost_table *table, enum cost_counter which)
{
	const struct row_key *key;
	struct cost_entry *entry;

	cost_more_clear(&table->idle, which);
	map_each (table->rows, pos, key, entry) {
		if (entry->more)
			cost_more_clear(entry->more, which);
	}
	if (which == COUNTER_SOFTIRQ) {
		free(TAKE_PTR(table->cpus));
		table->cpus_count = 0;
	} else if (which == COUNTER_WAKE) {
		keyed_counts_done(&table->pairs);
	} else if (which == COUNTER_CACHE) {
		keyed_counts_done(&table->evictions);
	}
}

static uint64_t bytes_of(uint64_t pages)
{
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
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
		entry->row.rss_bytes = entry->order ? 0 : bytes_of(process->owner.rss_pages);
		entry->reading = table->reading;
		if (reading->line_serial && !process->line_unread)
			entry->row.line_serial = process->line_matches ? reading->line_serial : 0;
	}
	for (size_t i = 0; i < reading->met_count && r >= 0; i++)
		r = learn_group(table, &reading->met[i]);
	if (r >= 0)
		r = take_counts(table, &reading->counts);
	end_unseen(table);
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
