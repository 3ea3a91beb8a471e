// SPDX-License-Identifier: GPL-2.0-or-later
#include "costs/cost_series.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"

static void subtract_sums(struct cost_sums *from, const struct cost_sums *less)
{
	for (int i = 0; i < COSTS; i++)
		from->of[i] -= less->of[i] < from->of[i] ? less->of[i] : from->of[i];
}

void cost_series_value(const struct series_entry *entry, struct cost_sums *sums)
{
	*sums = entry->row.costs;
	subtract_sums(sums, &entry->base);
}

/* Adds to what all others cost what `sum`, of all processes, says that they cost since the last
 * update. */
static void follow_others(struct cost_series *series, const struct cost_sums *sum)
{
	struct cost_sums rest = *sum;

	/* (Differences may be below 0 where a row is selected no more: then they wrap.) */
	for (int i = 0; i < COSTS; i++)
		rest.of[i] -= series->gone.of[i];
	for (size_t k = 0; k < series->count; k++) {
		struct cost_sums own;

		cost_series_value(&series->all[k], &own);
		for (int i = 0; i < COSTS; i++)
			rest.of[i] -= own.of[i];
	}
	for (int i = 0; i < COSTS; i++) {
		int64_t more = (int64_t)(rest.of[i] - series->rest.of[i]);

		series->others.of[i] += more > 0 ? (uint64_t)more : 0;
	}
	series->rest = rest;
}

/* Takes a process out of those that are chosen; the last one gets its place. */
static void drop_entry(struct cost_series *series, size_t place)
{
	struct cost_sums own;

	cost_series_value(&series->all[place], &own);
	cost_sums_add(&series->gone, &own);
	series->all[place] = series->all[--series->count];
}

static bool is_same(const struct cost_row *a, const struct cost_row *b)
{
	return a->pid == b->pid && a->start_ns == b->start_ns;
}

/* Returns whether a younger process has the pid: their series would have the same labels. */
static bool is_replaced(const struct cost_rows *rows, const struct cost_row *row)
{
	return row + 1 < rows->all + rows->count && row[1].pid == row->pid;
}

/* Brings the chosen up to date; who has ended, or has no row any more, is chosen no more. */
static void follow_rows(struct cost_series *series, const struct cost_rows *rows)
{
	for (size_t i = series->count; i-- > 0;) {
		struct series_entry *entry = &series->all[i];
		const struct cost_row *row = cost_rows_find(rows, &entry->row);

		if (!row || entry->is_over || is_replaced(rows, row)) {
			drop_entry(series, i);
			continue;
		}
		entry->row = *row;
		entry->row.more = NULL;
		entry->is_over = row->has_ended;
	}
}

/* A row by its CPU time. */
struct ranked_row {
	const struct cost_row *row;
	uint64_t run_ns;
};

static int compare_runs(const void *a, const void *b)
{
	const struct ranked_row *left = a, *right = b;

	if (left->run_ns != right->run_ns)
		return left->run_ns > right->run_ns ? -1 : 1;
	return left->row->pid < right->row->pid ? -1 : left->row->pid > right->row->pid;
}

static bool is_chosen(const struct cost_series *series, const struct cost_row *row)
{
	for (size_t i = 0; i < series->count; i++) {
		if (is_same(&series->all[i].row, row))
			return true;
	}
	return false;
}

/* Returns the place of the chosen one with the least CPU time. */
static size_t least_of(const struct cost_series *series)
{
	size_t least = 0;

	for (size_t i = 1; i < series->count; i++) {
		if (series->all[i].row.costs.of[COST_RUN] <
		    series->all[least].row.costs.of[COST_RUN])
			least = i;
	}
	return least;
}

static void choose_row(struct cost_series *series, const struct cost_row *row, size_t most)
{
	size_t least = least_of(series);

	if (series->count >= most) {
		if (series->all[least].row.costs.of[COST_RUN] >= row->costs.of[COST_RUN])
			return; /* one that has ended has its place for once more */
		drop_entry(series, least);
	}
	series->all[series->count] = (struct series_entry){.row = *row, .base = row->costs};
	series->all[series->count++].row.more = NULL;
}

int cost_series_update(struct cost_series *series, const struct cost_rows *rows, size_t most)
{
	_cleanup_free_ struct ranked_row *ranked = calloc(rows->count + 1, sizeof(*ranked));
	struct cost_sums sum = {0};
	size_t count = 0;

	most = most < COST_SERIES_MAX ? most : COST_SERIES_MAX;
	if (!series->all)
		series->all = calloc(COST_SERIES_MAX, sizeof(*series->all));
	if (!ranked || !series->all)
		return -ENOMEM;
	for (size_t i = 0; i < rows->count; i++) {
		cost_sums_add(&sum, &rows->all[i].costs);
		if (rows->all[i].pid && !rows->all[i].has_ended)
			ranked[count++] =
				(struct ranked_row){&rows->all[i], rows->all[i].costs.of[COST_RUN]};
	}
	qsort(ranked, count, sizeof(*ranked), compare_runs);
	follow_rows(series, rows);
	while (series->count > most)
		drop_entry(series, least_of(series));
	for (size_t i = 0; i < count && i < most; i++) {
		if (!is_chosen(series, ranked[i].row))
			choose_row(series, ranked[i].row, most);
	}
	follow_others(series, &sum);
	return 0;
}

void cost_series_done(struct cost_series *series)
{
	free(series->all);
	*series = (struct cost_series){0};
}
