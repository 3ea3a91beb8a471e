// SPDX-License-Identifier: GPL-2.0-or-later
#include "history/history_anomalies.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

void history_anomaly_done(struct history_anomaly *anomaly)
{
	free(anomaly->name);
	free(anomaly->container);
	free(anomaly->limits.path);
	history_changes_free(anomaly->changes, anomaly->changes ? anomaly->changes_count : 0);
}

void history_anomalies_done(struct history_anomalies *anomalies)
{
	for (size_t i = 0; i < anomalies->count; i++)
		history_anomaly_done(&anomalies->anomalies[i]);
	free(anomalies->anomalies);
	*anomalies = (struct history_anomalies){0};
}

static bool is_process(const struct function_row *row)
{
	return row->type == FRAME_TYPE_PROCESS;
}

/* Counts what was compared. */
static void count_rows(const struct functions *functions, struct history_anomalies *anomalies)
{
	for (size_t i = 0; i < functions_count(functions); i++) {
		const struct function_row *row = functions_at(functions, i);
		bool is_owned = row->process != NO_PROCESS;

		if (!is_process(row) && !is_owned)
			continue;
		const struct function_weight *weights =
			(is_owned ? functions_at(functions, row->process) : row)->total;
		bool was = weights[HISTORY_BEFORE].sum > 0, is = weights[HISTORY_AFTER].sum > 0;
		if (is_owned) {
			anomalies->functions += was && is;
		} else {
			anomalies->processes += was && is;
			anomalies->began += is && !was;
			anomalies->ended += was && !is;
		}
	}
}

/* Fills in an anomaly from its process's row. */
static int begin_anomaly(struct history_anomaly *anomaly, const struct function_row *row,
			 const struct history_span spans[HISTORY_SIDES])
{
	*anomaly = (struct history_anomaly){
		.name = strdup(row->name),
		.container = row->container ? strdup(row->container) : NULL,
		.is_new = row->total[HISTORY_BEFORE].sum <= 0,
		.is_silent = row->total[HISTORY_AFTER].sum <= 0,
		.rate = history_compare(row->total, spans),
	};
	return anomaly->name && (anomaly->container || !row->container) ? 0 : -ENOMEM;
}

/* Makes the list of anomalies from the list of changes. `known` has a number, plus 1, for each row
 * of a process that is one. */
static int list_anomalies(const struct functions *functions,
			  const struct history_span spans[HISTORY_SIDES],
			  const struct history_change *changes, size_t count, uint32_t *known,
			  struct history_anomalies *ret)
{
	for (size_t i = 0; i < count; i++) {
		const struct function_row *row = functions_at(functions, changes[i].row);
		uint32_t process = is_process(row) ? changes[i].row : row->process;

		if (process == NO_PROCESS)
			continue; /* of no process: GET /changes has it */
		if (!known[process]) {
			struct history_anomaly *anomaly = &ret->anomalies[ret->count++];

			if (begin_anomaly(anomaly, functions_at(functions, process), spans) < 0)
				return -ENOMEM;
			known[process] = (uint32_t)ret->count;
		}
		struct history_anomaly *anomaly = &ret->anomalies[known[process] - 1];
		if (is_process(row))
			anomaly->rate.is_change = changes[i].total.is_change;
		else
			anomaly->changes_count++;
	}
	return 0;
}

/* Moves the functions' changes to their anomalies. */
static int take_changes(const struct functions *functions, struct history_change *changes,
			size_t count, const uint32_t *known, struct history_anomalies *ret)
{
	for (size_t i = 0; i < ret->count; i++) {
		struct history_anomaly *anomaly = &ret->anomalies[i];

		anomaly->changes = calloc(anomaly->changes_count + 1, sizeof(*anomaly->changes));
		anomaly->changes_count = 0;
		if (!anomaly->changes)
			return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++) {
		const struct function_row *row = functions_at(functions, changes[i].row);

		if (row->process == NO_PROCESS)
			continue;
		struct history_anomaly *anomaly = &ret->anomalies[known[row->process] - 1];
		anomaly->changes[anomaly->changes_count++] = changes[i];
		changes[i].name = NULL;
	}
	return 0;
}

/* The largest change of a process or of a function in it. */
static double size_of(const struct history_anomaly *anomaly)
{
	double size =
		anomaly->rate.is_change ? fabs(anomaly->rate.after - anomaly->rate.before) : 0;

	for (size_t i = 0; i < anomaly->changes_count; i++) {
		const struct history_change *change = &anomaly->changes[i];

		if (change->self.is_change)
			size = fmax(size, fabs(change->self.after - change->self.before));
		if (change->total.is_change)
			size = fmax(size, fabs(change->total.after - change->total.before));
	}
	return size;
}

static int compare_anomalies(const void *a, const void *b)
{
	const struct history_anomaly *left = a, *right = b;
	double size = size_of(right) - size_of(left);

	if (size != 0)
		return size > 0 ? 1 : -1;
	return strcmp(left->name, right->name);
}

int history_anomalies_make(const struct functions *functions,
			   const struct history_span spans[HISTORY_SIDES], size_t max,
			   struct history_anomalies *ret)
{
	_cleanup_free_ uint32_t *known = calloc(functions_count(functions) + 1, sizeof(*known));
	struct history_change *changes = NULL;

	*ret = (struct history_anomalies){0};
	count_rows(functions, ret);
	int64_t count = known ? history_changes(functions, spans, max, &changes) : -ENOMEM;
	int r = count < 0 ? -ENOMEM : 0;
	if (r == 0) {
		ret->anomalies = calloc((size_t)count + 1, sizeof(*ret->anomalies));
		r = ret->anomalies
			    ? list_anomalies(functions, spans, changes, (size_t)count, known, ret)
			    : -ENOMEM;
	}
	if (r == 0)
		r = take_changes(functions, changes, (size_t)count, known, ret);
	if (r == 0)
		qsort(ret->anomalies, ret->count, sizeof(*ret->anomalies), compare_anomalies);
	if (count > 0)
		history_changes_free(changes, (size_t)count);
	else
		free(changes);
	return r;
}
