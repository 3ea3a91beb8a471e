// SPDX-License-Identifier: GPL-2.0-or-later
#include "history/history_anomalies.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

static void free_list(struct history_anomaly *list, size_t count)
{
	for (size_t i = 0; list && i < count; i++) {
		free(list[i].name);
		free(list[i].container);
		history_changes_free(list[i].changes, list[i].changes ? list[i].changes_count : 0);
	}
	free(list);
}

void history_anomalies_done(struct history_anomalies *anomalies)
{
	free_list(anomalies->anomalies, anomalies->count);
	free_list(anomalies->news, anomalies->news_count);
	*anomalies = (struct history_anomalies){0};
}

pid_t history_anomaly_pid(const struct history_anomaly *anomaly)
{
	char *end;
	long pid = anomaly->name[0] == '[' ? strtol(anomaly->name + 1, &end, 10) : 0;

	return pid > 0 && pid <= INT_MAX && *end == ']' ? (pid_t)pid : 0;
}

static bool is_process(const struct function_row *row)
{
	return row->type == FRAME_TYPE_PROCESS;
}

/* What a list is made of. */
struct anomaly_making {
	const struct functions *functions;
	const struct history_span *spans;
	struct history_change *changes;
	size_t count;
	uint32_t *known; /* by rows of processes: their numbers in the list, plus 1; 0: not yet */
	struct history_anomalies *ret;
};

/* Fills in an anomaly from its process's row. */
static int begin_anomaly(const struct anomaly_making *making, const struct function_row *row,
			 struct history_anomaly *anomaly)
{
	*anomaly = (struct history_anomaly){
		.name = strdup(row->name),
		.container = row->container ? strdup(row->container) : NULL,
		.is_silent = row->total[HISTORY_AFTER].sum <= 0,
		.rate = history_compare_row(making->functions, row, row->total, making->spans),
	};
	return anomaly->name && (anomaly->container || !row->container) ? 0 : -ENOMEM;
}

/* Returns the row of the process that a change is of. */
static uint32_t process_of(const struct anomaly_making *making, const struct history_change *change)
{
	const struct function_row *row = functions_at(making->functions, change->row);

	return is_process(row) ? change->row : row->process;
}

/* Makes the list of anomalies from the list of changes, without these. */
static int list_anomalies(const struct anomaly_making *making)
{
	struct history_anomalies *ret = making->ret;

	for (size_t i = 0; i < making->count; i++) {
		const struct history_change *change = &making->changes[i];
		uint32_t process = process_of(making, change);
		uint32_t *known = &making->known[process];

		if (!*known) {
			struct history_anomaly *anomaly = &ret->anomalies[ret->count++];

			if (begin_anomaly(making, functions_at(making->functions, process),
					  anomaly) < 0)
				return -ENOMEM;
			*known = (uint32_t)ret->count;
		}
		if (process == change->row)
			ret->anomalies[*known - 1].rate.is_change = change->total.is_change;
		else
			ret->anomalies[*known - 1].changes_count++;
	}
	return 0;
}

/* The larger one of a size and of the change of a rate. */
static double larger_change(double size, const struct history_rate *rate)
{
	return rate->is_change ? fmax(size, fabs(rate->after - rate->before)) : size;
}

/* Moves the functions' changes to their anomalies. */
static int take_changes(const struct anomaly_making *making)
{
	struct history_anomalies *ret = making->ret;

	for (size_t i = 0; i < ret->count; i++) {
		struct history_anomaly *anomaly = &ret->anomalies[i];

		anomaly->changes = calloc(anomaly->changes_count + 1, sizeof(*anomaly->changes));
		anomaly->changes_count = 0;
		anomaly->size = larger_change(0, &anomaly->rate);
		if (!anomaly->changes)
			return -ENOMEM;
	}
	for (size_t i = 0; i < making->count; i++) {
		struct history_change *change = &making->changes[i];
		uint32_t process = process_of(making, change);
		struct history_anomaly *anomaly = &ret->anomalies[making->known[process] - 1];

		if (process == change->row)
			continue;
		anomaly->size = larger_change(anomaly->size, &change->self);
		anomaly->size = larger_change(anomaly->size, &change->total);
		anomaly->changes[anomaly->changes_count++] = *change;
		change->name = NULL;
	}
	return 0;
}

static int compare_anomalies(const void *a, const void *b)
{
	const struct history_anomaly *left = a, *right = b;

	if (left->size != right->size)
		return right->size > left->size ? 1 : -1;
	return strcmp(left->name, right->name);
}

/* Counts what was compared. Returns the number of processes that are too new. */
static size_t count_rows(const struct anomaly_making *making)
{
	size_t news = 0;

	for (size_t i = 0; i < functions_count(making->functions); i++) {
		const struct function_row *row = functions_at(making->functions, i);
		bool is_judged = history_is_judged(making->functions, row, making->spans);

		making->ret->processes += is_judged && is_process(row);
		making->ret->functions += is_judged && !is_process(row);
		news += is_process(row) && !is_judged && !row->is_left_out;
	}
	return news;
}

/* Lists the processes that are too new to be judged. */
static int list_news(const struct anomaly_making *making, size_t count)
{
	struct history_anomalies *ret = making->ret;

	ret->news = calloc(count + 1, sizeof(*ret->news));
	for (size_t i = 0; ret->news && i < functions_count(making->functions); i++) {
		const struct function_row *row = functions_at(making->functions, i);

		if (!is_process(row) || row->is_left_out || row->total[HISTORY_AFTER].sum <= 0 ||
		    history_is_judged(making->functions, row, making->spans))
			continue;
		struct history_anomaly *anomaly = &ret->news[ret->news_count++];
		if (begin_anomaly(making, row, anomaly) < 0)
			return -ENOMEM;
		anomaly->size = anomaly->rate.after;
	}
	if (!ret->news)
		return -ENOMEM;
	qsort(ret->news, ret->news_count, sizeof(*ret->news), compare_anomalies);
	return 0;
}

static int make_lists(struct anomaly_making *making)
{
	struct history_anomalies *ret = making->ret;
	int r = list_news(making, count_rows(making));

	ret->anomalies = calloc(making->count + 1, sizeof(*ret->anomalies));
	if (r == 0)
		r = ret->anomalies ? list_anomalies(making) : -ENOMEM;
	if (r == 0)
		r = take_changes(making);
	if (r == 0)
		qsort(ret->anomalies, ret->count, sizeof(*ret->anomalies), compare_anomalies);
	return r;
}

int history_anomalies_make(const struct functions *functions,
			   const struct history_span spans[HISTORY_SIDES],
			   struct history_anomalies *ret)
{
	_cleanup_free_ uint32_t *known = calloc(functions_count(functions) + 1, sizeof(*known));
	struct anomaly_making making = {functions, spans, .known = known, .ret = ret};

	*ret = (struct history_anomalies){.refused = functions_refused(functions)};
	if (!known)
		return -ENOMEM;
	if (!functions_by_process(functions))
		return 0; /* there are none */
	int64_t count = history_changes(functions, spans, SIZE_MAX, &making.changes);
	if (count < 0)
		return -ENOMEM;
	making.count = (size_t)count;
	int r = make_lists(&making);
	history_changes_free(making.changes, making.count);
	return r;
}
