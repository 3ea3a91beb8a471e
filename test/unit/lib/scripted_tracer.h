/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A tracer that a test scripts: all functions of kernel/tracer.h and of its parts
 * (hooks/tracer_*.h), without BPF. A program that includes this header gets these functions
 * instead of the library's, so that what decides (target/, engine/, session/, api/) runs as it is,
 * in milliseconds and without root. Include it in one file of a program.
 *
 * The test says what the kernel's side does (scripted_life(), scripted_stack(), …, scripted_fail())
 * and reads what it was told (struct tracer: on, verdicts, targets by tracer_target_get()). As in
 * the real tracer, events wait until somebody reads them.
 */
#pragma once

#include "unit/lib/scripted_kernel.h"
#include "unit/lib/scripted_parts.h"

#define SCRIPTED_CHUNK_BYTES (CHUNK_WORDS * 4U)

static int scripted_chunk_add(void *arg, unsigned chunk)
{
	const struct tracer *tracer = arg;

	if (chunk >= SCRIPTED_CHUNKS)
		return -ENOMEM;
	memset(tracer->words + (size_t)chunk * CHUNK_WORDS, 0, SCRIPTED_CHUNK_BYTES);
	return 0;
}

static void scripted_chunk_remove(void *arg, unsigned chunk)
{
	(void)arg, (void)chunk;
}

int tracer_new(struct tracer **ret, struct loop *loop, const struct tracer_sizes *sizes,
	       const struct tracer_events *events)
{
	if (scripted_errors[SCRIPTED_NEW])
		return scripted_errors[SCRIPTED_NEW];
	struct tracer *tracer = calloc(1, sizeof(*tracer));

	assert_non_null(tracer);
	tracer->loop = loop;
	tracer->sizes = *sizes;
	tracer->events = *events;
	assert_int_equal(map_new(&tracer->targets, sizeof(pid_t), sizeof(struct target_value),
				 sizes->targets),
			 0);
	*ret = scripted = tracer;
	return 0;
}

void tracer_free(struct tracer *tracer)
{
	if (!tracer)
		return;
	tracer_stop(tracer);
	map_free(tracer->targets);
	free(tracer);
	scripted = NULL;
}

int tracer_start(struct tracer *tracer, struct why *why)
{
	struct arena_memory memory = {NULL, scripted_chunk_add, scripted_chunk_remove, tracer};

	if (scripted_errors[SCRIPTED_START])
		return scripted_result(SCRIPTED_START, why);
	assert_false(tracer->started);
	memory.words = tracer->words = malloc((size_t)SCRIPTED_CHUNKS * SCRIPTED_CHUNK_BYTES);
	assert_non_null(tracer->words);
	assert_int_equal(
		arena_new(&tracer->arena, &memory, (size_t)SCRIPTED_CHUNKS * SCRIPTED_CHUNK_BYTES),
		0);
	tracer->started = true;
	tracer->starts++;
	tracer->window = tracer->window ? tracer->window + 1 : 1;
	return 0;
}

static void scripted_forget_events(struct tracer *tracer)
{
	for (size_t i = 0; i < tracer->waiting_count; i++)
		free(tracer->waiting[i].group);
	tracer->waiting_count = tracer->stacks_count = tracer->counts_count = 0;
}

void tracer_stop(struct tracer *tracer)
{
	if (!tracer->started)
		return;
	tracer_hists_stop(tracer);
	tracer_offcpu_stop(tracer);
	tracer_faults_stop(tracer);
	tracer_calls_stop(tracer);
	tracer_sample_stop(tracer);
	scripted_forget_events(tracer);
	map_clear(tracer->targets);
	arena_free(tracer->arena);
	free(tracer->words);
	tracer->arena = NULL;
	tracer->words = NULL;
	tracer->started = tracer->follow = tracer->by_group = false;
	tracer->verdicts_count = 0;
	tracer->stops++;
}

int tracer_load(struct tracer *tracer, struct why *why)
{
	assert_true(tracer->started);
	if (!scripted_errors[SCRIPTED_LOAD])
		tracer->loaded = true;
	return scripted_result(SCRIPTED_LOAD, why);
}

int tracer_sample(struct tracer *tracer, uint64_t period_ns, struct why *why)
{
	assert_true(tracer->started);
	if (!scripted_errors[SCRIPTED_SAMPLE])
		tracer->period_ns = period_ns;
	return scripted_result(SCRIPTED_SAMPLE, why);
}

void tracer_sample_stop(struct tracer *tracer)
{
	tracer->period_ns = 0;
	tracer->loaded = false;
}

void tracer_follow_new(struct tracer *tracer, bool follow, uint32_t probes)
{
	tracer->follow = follow;
	tracer->pending_probes = probes;
	tracer->verdicts_count = 0;
	tracer->selections++;
}

void tracer_set_budget(struct tracer *tracer, unsigned percent)
{
	tracer->budget_percent = percent;
}

void tracer_set_by_cpu(struct tracer *tracer, uint32_t probes)
{
	tracer->by_cpu = probes;
}

uint32_t tracer_thinned(const struct tracer *tracer, enum probe probe)
{
	(void)probe;
	return tracer->thinned ? tracer->thinned : 1;
}

void tracer_by_group(struct tracer *tracer, bool by_group)
{
	tracer->by_group = by_group;
}

static void scripted_judge(struct tracer *tracer, const struct verdict_key *on,
			   enum verdict_word word)
{
	if (tracer->verdicts_count < SCRIPTED_VERDICTS)
		tracer->verdicts[tracer->verdicts_count++] = (struct scripted_verdict){*on, word};
}

void tracer_judge(struct tracer *tracer, const char comm[COMM_BYTES], enum verdict_word word)
{
	struct verdict_key on = {.on = VERDICT_ON_NAME};

	memcpy(on.comm, comm, COMM_BYTES);
	scripted_judge(tracer, &on, word);
}

void tracer_judge_group(struct tracer *tracer, const struct cgroup_key *key, enum verdict_word word)
{
	struct verdict_key on = {.on = VERDICT_ON_GROUP, .group = *key};

	scripted_judge(tracer, &on, word);
}

void tracer_forget_group(struct tracer *tracer, const struct cgroup_key *key)
{
	(void)key;
	tracer->forgotten++;
}

int tracer_target_set(struct tracer *tracer, pid_t tgid, const struct target_value *value,
		      bool fresh)
{
	void *place;

	if (!tracer->started)
		return -ENOENT;
	bool is_there = map_get(tracer->targets, &tgid) != NULL;
	if (fresh && is_there)
		return -EEXIST;
	if (!fresh && !is_there)
		return -ENOENT;
	int r = map_put(tracer->targets, &tgid, &place);
	if (r < 0)
		return r;
	memcpy(place, value, sizeof(*value));
	return 0;
}

int tracer_target_get(struct tracer *tracer, pid_t tgid, struct target_value *value)
{
	const struct target_value *there = map_get(tracer->targets, &tgid);

	if (!there)
		return -ENOENT;
	*value = *there;
	return 0;
}

void tracer_target_del(struct tracer *tracer, pid_t tgid)
{
	map_del(tracer->targets, &tgid);
}

/* Reports an event; a callback may read further events, or stop the tracer. */
static void scripted_report(struct tracer *tracer, struct scripted_event *event)
{
	const struct tracer_events *to = &tracer->events;

	if (event->kind == SCRIPTED_GROUP && to->group)
		to->group(to->arg, event->group);
	else if (event->kind == SCRIPTED_MOVED && to->moved)
		to->moved(to->arg, &event->life);
	else if (event->kind == SCRIPTED_LIFE)
		to->life(to->arg, &event->life);
	free(event->group);
}

void tracer_read_life(struct tracer *tracer)
{
	while (tracer->waiting_count > 0) {
		struct scripted_event first = tracer->waiting[0];

		tracer->waiting_count--;
		memmove(tracer->waiting, tracer->waiting + 1,
			tracer->waiting_count * sizeof(first));
		scripted_report(tracer, &first);
	}
}

bool tracer_read_stacks(struct tracer *tracer)
{
	tracer_read_life(tracer);
	size_t count = tracer->stacks_count, part = tracer->stacks_part;

	if (!part || part > count)
		part = count;
	for (size_t i = 0; i < part; i++)
		tracer->events.stack(tracer->events.arg, &tracer->stacks[i].stack,
				     tracer->stacks[i].words);
	tracer->stacks_count = count - part;
	memmove(tracer->stacks, tracer->stacks + part,
		tracer->stacks_count * sizeof(tracer->stacks[0]));
	return tracer->stacks_count > 0;
}

void tracer_looks(const struct tracer *tracer, struct tracer_looks *looks)
{
	*looks = tracer->looks;
}

struct arena *tracer_arena(const struct tracer *tracer)
{
	return tracer->arena;
}

uint64_t tracer_window(const struct tracer *tracer)
{
	return tracer->started ? tracer->window : 0;
}

struct window_counts {
	struct counted list[SCRIPTED_EVENTS];
	size_t count;
	bool is_read;
};

int window_counts_new(struct window_counts **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void window_counts_free(struct window_counts *counts)
{
	free(counts);
}

void window_counts_clear(struct window_counts *counts)
{
	counts->count = 0;
}

void tracer_swap(struct tracer *tracer, struct worker *worker, struct window_counts *counts,
		 void (*done)(void *arg), void *arg)
{
	(void)worker;
	counts->count = 0;
	if (tracer->started) {
		tracer->window++;
		for (size_t i = 0; i < tracer->counts_count; i++)
			counts->list[i] =
				(struct counted){tracer->counts[i].key, tracer->counts[i].count};
		counts->count = tracer->counts_count;
		counts->is_read = false;
		tracer->counts_count = 0;
	}
	done(arg);
}

int window_counts_read(struct window_counts *counts)
{
	counts->is_read = true;
	if (scripted_errors[SCRIPTED_SWAP])
		counts->count = 0;
	return scripted_errors[SCRIPTED_SWAP];
}

struct full_maps *window_counts_full(struct window_counts *counts)
{
	(void)counts;
	return NULL;
}

void full_maps_free(struct full_maps *maps)
{
	(void)maps;
}

void full_maps_empty(struct full_maps *maps)
{
	(void)maps;
}

const struct counted *window_counts_list(const struct window_counts *counts, size_t *count)
{
	*count = counts->is_read ? counts->count : 0;
	return counts->list;
}

void window_counts_lost(const struct window_counts *counts, uint64_t events[PROBE_COUNT])
{
	(void)counts;
	(void)events;
}

void tracer_counters(const struct tracer *tracer, struct counters *sum)
{
	*sum = tracer->sum;
}

uint64_t tracer_bpf_time_ns(const struct tracer *tracer)
{
	(void)tracer;
	return 0;
}

unsigned tracer_cpus(const struct tracer *tracer)
{
	return tracer->period_ns ? 1 : 0;
}
