// SPDX-License-Identifier: GPL-2.0-or-later
#include "api/metrics/process_choice.h"

#include <stdint.h>
#include <stdlib.h>

#include "api/feature/feature.h"
#include "base/cleanup.h"
#include "base/grow.h"

struct process_candidate {
	pid_t pid;
	uint64_t weight;
};

struct process_candidates {
	struct process_candidate *list;
	size_t count, capacity;
};

static void candidates_done(struct process_candidates *candidates)
{
	free(candidates->list);
}

/* Without memory the process has no series. */
static void add_candidate(struct process_candidates *candidates, pid_t pid, uint64_t weight)
{
	if (array_grow(candidates->list, candidates->capacity, candidates->count + 1, 64) == 0)
		candidates->list[candidates->count++] = (struct process_candidate){pid, weight};
}

static void add_by_time(void *arg, const struct process_times *process)
{
	add_candidate(arg, process->pid, process->times.run_ns);
}

static void add_by_truncated(void *arg, const struct target *target)
{
	uint64_t weight = 0;

	for (int i = TRUNCATED_NOT + 1; target->match.probes && i < TRUNCATED_COUNT; i++)
		weight += target->truncated[i];
	if (weight)
		add_candidate(arg, target->pid, weight);
}

/* The heaviest first; of equal ones the one with the lower pid, so that the choice stays. */
static int compare_candidates(const void *left, const void *right)
{
	const struct process_candidate *a = left, *b = right;

	if (a->weight != b->weight)
		return a->weight > b->weight ? -1 : 1;
	return a->pid < b->pid ? -1 : a->pid > b->pid;
}

static int compare_pids(const void *left, const void *right)
{
	pid_t a = *(const pid_t *)left, b = *(const pid_t *)right;

	return a < b ? -1 : a > b;
}

static void choose_processes(struct process_candidates *candidates, size_t most,
			     struct process_chosen *chosen)
{
	size_t count = candidates->count < most ? candidates->count : most;

	if (!count || !(chosen->pids = calloc(count, sizeof(*chosen->pids))))
		return;
	qsort(candidates->list, candidates->count, sizeof(*candidates->list), compare_candidates);
	for (size_t i = 0; i < count; i++)
		chosen->pids[i] = candidates->list[i].pid;
	chosen->count = count;
	qsort(chosen->pids, count, sizeof(*chosen->pids), compare_pids);
}

static bool anything_runs(const struct services *services)
{
	const struct spec *flamegraph = session_spec(services->flamegraph);
	const struct spec *sched = sched_spec(services->sched);

	return (flamegraph && flamegraph->running) || (sched && sched->running) ||
	       ondemands_count(services->ondemands);
}

static size_t most_of(enum process_choice_by by, int64_t process_metrics)
{
	return (size_t)(by == CHOSEN_BY_TIME  ? process_metrics
			: process_metrics > 5 ? process_metrics / 5
					      : process_metrics > 0);
}

void process_choice_make(struct process_choice *choice, const struct services *services)
{
	*choice = (struct process_choice){0};
	if (!anything_runs(services))
		return;
	choice->all = services->process_metrics == PROCESS_CHOICE_ALL;
	for (int by = 0; by < CHOSEN_BY && !choice->all; by++) {
		_cleanup_(candidates_done) struct process_candidates candidates = {0};
		struct process_chosen *chosen = &choice->by[by];

		if (by == CHOSEN_BY_TIME)
			engine_times(services->engine, add_by_time, &candidates);
		else
			engine_targets(services->engine, add_by_truncated, &candidates);
		choose_processes(&candidates, most_of(by, services->process_metrics), chosen);
		chosen->left_out = candidates.count - chosen->count;
	}
}

void process_choice_done(struct process_choice *choice)
{
	for (int by = 0; by < CHOSEN_BY; by++)
		free(choice->by[by].pids);
	*choice = (struct process_choice){0};
}

bool process_is_chosen(const struct process_choice *choice, enum process_choice_by by, pid_t pid)
{
	const struct process_chosen *chosen = choice ? &choice->by[by] : NULL;

	return !choice || choice->all ||
	       (chosen->count &&
		bsearch(&pid, chosen->pids, chosen->count, sizeof(pid), compare_pids));
}
