// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/top/top_table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare_owners(const struct top_owner *left, const struct top_owner *right)
{
	if (left->pid != right->pid)
		return left->pid < right->pid ? -1 : 1;
	int order = strcmp(left->name, right->name);
	return order ? order : left->is_kernel - right->is_kernel;
}

static int compare_for_search(const void *a, const void *b)
{
	return compare_owners(&((const struct top_row *)a)->owner,
			      &((const struct top_row *)b)->owner);
}

double top_row_now(const struct top_row *row, unsigned column)
{
	return row->past[TOP_PAST - 1][column];
}

static int compare_for_view(const void *a, const void *b, void *arg)
{
	const struct top_table *table = arg;
	double left = top_row_now(a, table->column), right = top_row_now(b, table->column);

	if (left != right)
		return (left > right) == table->from_small ? 1 : -1;
	return compare_for_search(a, b);
}

static bool is_wanted(const struct top_table *table, const struct top_row *row)
{
	char pid[16];

	if (row->is_gone)
		return false;
	if (!table->filter[0])
		return true;
	snprintf(pid, sizeof(pid), "%d", (int)row->owner.pid);
	return strcasestr(row->owner.name, table->filter) ||
	       strcasestr(row->owner.container, table->filter) || strcmp(pid, table->filter) == 0;
}

void top_table_sort(struct top_table *table)
{
	table->shown = 0;
	for (size_t i = 0; i < table->count; i++) {
		struct top_row row = table->rows[i];

		if (!is_wanted(table, &row))
			continue;
		table->rows[i] = table->rows[table->shown];
		table->rows[table->shown++] = row;
	}
	if (table->shown)
		qsort_r(table->rows, table->shown, sizeof(*table->rows), compare_for_view, table);
}

/* Adds an interval behind those of the past. */
static void add_interval(struct top_row *row, const struct cost_sums *costs, double span_s)
{
	memmove(row->past[0], row->past[1], sizeof(row->past) - sizeof(row->past[0]));
	for (unsigned i = 0; i < TOP_COLUMNS; i++)
		row->past[TOP_PAST - 1][i] = costs ? (double)top_column_sum(i, costs) / span_s : 0;
}

static void take_host(struct top_table *table, const struct top_reading *reading)
{
	double idle_ns = (double)(reading->idle_ns + reading->iowait_ns);
	double wall_ns = (double)reading->wall_ns;

	memmove(&table->busy[0], &table->busy[1], sizeof(table->busy) - sizeof(table->busy[0]));
	table->busy[TOP_PAST - 1] = wall_ns > idle_ns ? (wall_ns - idle_ns) / wall_ns : 0;
	table->last = *reading;
	table->last.rows = NULL;
	table->last.count = 0;
}

/* Removes the rows that have cost nothing in all intervals that are kept. */
static void drop_gone(struct top_table *table)
{
	size_t kept = 0;

	for (size_t i = 0; i < table->count; i++) {
		struct top_row *row = &table->rows[i];
		bool is_used = !row->is_gone;

		for (int past = 0; past < TOP_PAST && !is_used; past++) {
			for (unsigned column = 0; column < TOP_COLUMNS && !is_used; column++)
				is_used = row->past[past][column] > 0;
		}
		if (is_used)
			table->rows[kept++] = *row;
	}
	table->count = kept;
}

int top_table_take(struct top_table *table, const struct top_reading *reading)
{
	double span_s = reading->until_s - reading->from_s;
	size_t known = table->count;
	struct top_row *rows = reallocarray(table->rows, known + reading->count + 1, sizeof(*rows));

	if (!rows)
		return -ENOMEM;
	table->rows = rows;
	qsort(rows, known, sizeof(*rows), compare_for_search);
	for (size_t i = 0; i < known; i++) {
		add_interval(&rows[i], NULL, span_s);
		rows[i].is_gone = true;
	}
	for (size_t i = 0; i < reading->count; i++) {
		struct top_row fresh = {.owner = reading->rows[i].owner};
		struct top_row *row =
			bsearch(&fresh, rows, known, sizeof(*rows), compare_for_search);

		if (!row) {
			row = &rows[table->count++];
			*row = fresh;
		}
		row->owner = fresh.owner;
		row->is_gone = false;
		for (unsigned column = 0; column < TOP_COLUMNS; column++)
			row->past[TOP_PAST - 1][column] +=
				(double)top_column_sum(column, &reading->rows[i].costs) / span_s;
	}
	add_interval(&table->all, &reading->all.costs, span_s);
	take_host(table, reading);
	drop_gone(table);
	top_table_sort(table);
	return 0;
}

void top_table_clear(struct top_table *table)
{
	free(table->rows);
	table->rows = NULL;
	table->count = table->shown = 0;
}

ssize_t top_table_find(const struct top_table *table, const struct top_owner *owner)
{
	for (size_t i = 0; i < table->shown; i++) {
		if (compare_owners(&table->rows[i].owner, owner) == 0)
			return (ssize_t)i;
	}
	return -ENOENT;
}
