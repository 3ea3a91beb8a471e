// SPDX-License-Identifier: GPL-2.0-or-later
/* What a table of costs tells: copies of its rows, whose they are, names, sums. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "costs/cost_table_state.h"

#define GENERATIONS_MAX 64 /* of forks without an execve */

static size_t count_more(const struct cost_table *table)
{
	const struct cost_entry *entry;
	const struct row_key *key;
	size_t count = 0;

	map_each (table->rows, pos, key, entry)
		count += entry->more != NULL;
	return count;
}

/* Makes room for what a copy of all rows has. */
static int make_room(const struct cost_table *table, struct cost_rows *rows)
{
	rows->all = calloc(map_count(table->rows) + 1, sizeof(*rows->all));
	rows->more = calloc(count_more(table) + 1, sizeof(*rows->more));
	if (!rows->all || !rows->more)
		return -ENOMEM;
	int r = cost_cpus_replace(&rows->cpus, &rows->cpus_count, table->cpus, table->cpus_count);
	if (r == 0)
		r = keyed_counts_copy(&rows->pairs, &table->pairs);
	return r < 0 ? r : keyed_counts_copy(&rows->evictions, &table->evictions);
}

int cost_table_copy(const struct cost_table *table, struct cost_rows *rows)
{
	const struct cost_entry *entry;
	const struct row_key *key;
	size_t more = 0;

	*rows = (struct cost_rows){
		.time_ns = rows->time_ns, .host = table->host, .idle = table->idle};
	int r = make_room(table, rows);
	if (r < 0)
		return r;
	map_each (table->rows, pos, key, entry) {
		struct cost_row *row = &rows->all[rows->count++];

		*row = entry->row;
		if (!entry->more)
			continue;
		row->more = &rows->more[more++];
		*row->more = *entry->more;
	}
	cost_rows_sort(rows);
	return 0;
}

static struct known_cgroup *group_of(const struct cost_table *table, const struct cost_row *row)
{
	struct known_cgroup **group = map_get(table->groups, &row->group);

	return group ? *group : NULL;
}

const struct cost_row *cost_row_line(const struct cost_table *table, const struct cost_row *row)
{
	for (unsigned i = 0; i < GENERATIONS_MAX && row->forker; i++) {
		const struct row_key key = {.start_ns = row->forker_start_ns,
					    .pid = (uint64_t)row->forker};
		const struct cost_entry *forker = map_get(table->rows, &key);

		if (!forker)
			break;
		row = &forker->row;
	}
	return row;
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

const struct known_cgroup *cost_table_cgroup(const struct cost_table *table, uint64_t id,
					     bool *has_path)
{
	const struct cgroup_key *key;
	struct known_cgroup **group;

	map_each (table->groups, pos, key, group) {
		/* Hierarchies number their nodes each for itself: of v1, the controller's counts.
		 */
		*has_path = !key->v1;
		if (id && (key->v1 ? key->v1 : key->v2) == id)
			return *group;
	}
	return NULL;
}

void cost_table_names(const struct cost_table *table, struct cost_name_of *names, size_t count)
{
	const struct cost_entry *entry;
	const struct row_key *key;

	map_each (table->rows, pos, key, entry) {
		for (size_t i = 0; i < count; i++) {
			if (names[i].pid != key->pid || !key->pid ||
			    names[i].start_ns > key->start_ns)
				continue;
			names[i].start_ns = key->start_ns;
			memcpy(names[i].comm, entry->row.comm, COMM_BYTES);
		}
	}
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
