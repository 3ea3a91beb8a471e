// SPDX-License-Identifier: GPL-2.0-or-later
#include "costs/cost_rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "costs/cost_table.h"
#include "proc/proc.h"

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
	free(rows->more);
	free(rows->cpus);
	keyed_counts_done(&rows->pairs);
	keyed_counts_done(&rows->evictions);
	*rows = (struct cost_rows){0};
}

void cost_rows_clear(struct cost_rows *rows, enum cost_counter which)
{
	cost_more_clear(&rows->idle, which);
	for (size_t i = 0; i < rows->count; i++) {
		if (rows->all[i].more)
			cost_more_clear(rows->all[i].more, which);
	}
	if (which == COUNTER_SOFTIRQ) {
		free(TAKE_PTR(rows->cpus));
		rows->cpus_count = 0;
	} else if (which == COUNTER_WAKE) {
		keyed_counts_done(&rows->pairs);
	} else if (which == COUNTER_CACHE) {
		keyed_counts_done(&rows->evictions);
	}
}

void cost_rows_sort(struct cost_rows *rows)
{
	qsort(rows->all, rows->count, sizeof(*rows->all), compare_rows);
}

const struct cost_row *cost_rows_find(const struct cost_rows *rows, const struct cost_row *of)
{
	return rows->count ? bsearch(of, rows->all, rows->count, sizeof(*rows->all), compare_rows)
			   : NULL;
}

static bool is_nothing(const struct cost_row *row, bool with_idle)
{
	for (int i = 0; i < (with_idle ? COST_VALUES : COST_RSS); i++) {
		if (cost_row_value(row, (enum cost)i))
			return false;
	}
	return true;
}

static void subtract_row(struct cost_row *row, const struct cost_row *before)
{
	for (int i = 0; i < COSTS; i++)
		row->costs.of[i] -= before->costs.of[i] < row->costs.of[i] ? before->costs.of[i]
									   : row->costs.of[i];
	if (row->more && before->more)
		cost_more_subtract(row->more, before->more);
	row->processes -= row->pid ? 0 : before->processes;
}

/* Takes away from the row of a cgroup what processes had before that are folded into it now. */
static void subtract_folded(struct cost_rows *rows, const struct cost_row *before)
{
	const struct cost_row sought = {.group = before->group};
	struct cost_row *sum =
		bsearch(&sought, rows->all, rows->count, sizeof(*rows->all), compare_rows);

	if (sum)
		subtract_row(sum, &(struct cost_row){.costs = before->costs, .more = before->more});
}

static void subtract_count(uint64_t *from, uint64_t less)
{
	*from -= less < *from ? less : *from;
}

static void subtract_cpus(struct cost_rows *rows, const struct cost_rows *before)
{
	for (size_t i = 0; i < rows->cpus_count && i < before->cpus_count; i++) {
		for (int j = 0; j < SOFTIRQS; j++) {
			subtract_count(&rows->cpus[i].count[j], before->cpus[i].count[j]);
			subtract_count(&rows->cpus[i].ns[j], before->cpus[i].ns[j]);
		}
	}
}

void cost_rows_subtract(struct cost_rows *rows, const struct cost_rows *before, bool with_idle)
{
	size_t kept = 0;

	host_times_subtract(&rows->host, &before->host);
	energy_subtract(&rows->energy, &before->energy);
	cost_more_subtract(&rows->idle, &before->idle);
	subtract_cpus(rows, before);
	keyed_counts_subtract(&rows->pairs, &before->pairs);
	keyed_counts_subtract(&rows->evictions, &before->evictions);
	for (size_t i = 0; i < before->count; i++) {
		struct cost_row *row = bsearch(&before->all[i], rows->all, rows->count,
					       sizeof(*rows->all), compare_rows);
		if (row)
			subtract_row(row, &before->all[i]);
		else
			subtract_folded(rows, &before->all[i]);
	}
	for (size_t i = 0; i < rows->count; i++) {
		if (!is_nothing(&rows->all[i], with_idle))
			rows->all[kept++] = rows->all[i];
	}
	rows->count = kept;
}

void cost_rows_sum(struct cost_rows *rows)
{
	rows->cycles = 0;
	for (size_t i = 0; i < rows->count; i++)
		rows->cycles += cost_row_value(&rows->all[i], COST_PMU_CYCLES);
}

void cost_rows_select(struct cost_rows *rows, const struct cost_table *table,
		      const struct snoopers *snoopers)
{
	uint64_t serial = snoopers_serial(snoopers);
	size_t kept = 0;

	if (snoopers_empty(snoopers))
		return;
	for (size_t i = 0; i < rows->count; i++) {
		const struct cost_row *row = &rows->all[i], *line = cost_row_line(table, row);
		const char *path = cost_row_path(table, row);
		const struct identity who = {
			.line_pid = line->pid,
			.line_start_ticks = proc_ticks_of_ns(line->start_ns),
			.comm = row->comm,
			.container = cost_row_container(table, row),
			.cgroup = *path ? path : NULL,
		};
		struct match match;

		snoopers_match(snoopers, &who, &match);
		if (match.probes || (match.maybe && row->line_serial == serial))
			rows->all[kept++] = *row;
	}
	rows->count = kept;
}

/* ---- groups ---- */

void cost_row_add(struct cost_row *sum, const struct cost_row *row)
{
	sum->processes += row->processes;
	cost_sums_add(&sum->costs, &row->costs);
	sum->rss_bytes += row->rss_bytes;
	if (!sum->more)
		sum->more = row->more;
	else if (row->more)
		cost_more_add(sum->more, row->more);
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
