/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A tracer that a test scripts: all functions of kernel/tracer.h and of its parts
 * (probes/tracer_*.h), without BPF. A program that includes this header gets these functions
 * instead of the library's, so that what decides (target/, engine/, session/, api/) runs as it is,
 * in milliseconds and without root. Include it in one file of a program.
 *
 * The test says what the kernel's side does (scripted_life(), scripted_stack(), …, scripted_fail())
 * and reads what it was told (struct tracer: on, verdicts, targets by tracer_target_get()). As in
 * the real tracer, events wait until somebody reads them.
 */
#pragma once

#include "unit/lib/unit.h"

#include <pthread.h>

#include "base/map.h"
#include "base/why.h"
#include "kernel/tracer.h"
#include "kernel/tracer_waits.h"
#include "probes/tracer_held.h"
#include "probes/tracer_memory.h"
#include "probes/tracer_sched.h"
#include "probes/tracer_times.h"
#include "unwind/arena.h"

#include "bpf/shared/packed.h"

/* What can be made to fail: the functions of these names. */
enum scripted_call {
	SCRIPTED_NEW,
	SCRIPTED_START,
	SCRIPTED_LOAD,
	SCRIPTED_SAMPLE,
	SCRIPTED_OFFCPU,
	SCRIPTED_FAULTS,
	SCRIPTED_CALLS,
	SCRIPTED_HISTS,
	SCRIPTED_SWAP,
	SCRIPTED_HELD_FD,
	SCRIPTED_HELD_READ,
	SCRIPTED_TIMES_READ,
	SCRIPTED_CALLS_COUNT
};

#define SCRIPTED_EVENTS	  256 /* events that wait to be read, and counts of a window */
#define SCRIPTED_WORDS	  128 /* most words of a stack */
#define SCRIPTED_VERDICTS 64
#define SCRIPTED_CHUNKS	  16 /* of the arena */

struct scripted_event {
	enum { SCRIPTED_LIFE, SCRIPTED_MOVED, SCRIPTED_GROUP } kind;
	struct life_event life;
	struct group_event *group; /* owned */
};

struct scripted_taken {
	struct stack stack;
	uint64_t words[SCRIPTED_WORDS];
};

struct scripted_counted {
	struct count_key key;
	struct stack_count count;
};

/* A verdict that was told, on a name or on cgroups. */
struct scripted_verdict {
	struct verdict_key on;
	enum verdict_word word;
};

/* Everything may be read by the test; it writes `sum`, `hists`, `lengths`, `times`, `gone`,
 * `looks`. */
struct tracer {
	struct loop *loop;
	struct tracer_sizes sizes;
	struct tracer_events events;

	/* what is on */
	bool started, loaded, offcpu, faults, calls, hists, follow, by_group;
	uint64_t period_ns; /* 0: not sampling */
	uint32_t pending_probes, by_cpu;
	unsigned budget_percent;
	struct offcpu_settings offcpu_settings;
	struct sched_hists_settings hists_settings;
	uint64_t fault_bytes, sample_bytes;
	unsigned starts, stops; /* calls of tracer_start(), of tracer_stop() while started */

	struct map *targets; /* pid_t -> struct target_value */
	struct scripted_verdict verdicts[SCRIPTED_VERDICTS];
	size_t verdicts_count;
	unsigned selections; /* calls of tracer_follow_new() */
	unsigned forgotten;  /* calls of tracer_forget_group() */

	/* what is to be told */
	struct scripted_event waiting[SCRIPTED_EVENTS];
	size_t waiting_count;
	struct scripted_taken stacks[SCRIPTED_EVENTS];
	size_t stacks_count;
	struct scripted_counted counts[SCRIPTED_EVENTS];
	size_t counts_count;
	struct counters sum;
	struct tracer_looks looks;
	uint32_t thinned;	       /* tracer_thinned() of each probe; 0 counts as 1 */
	struct hist_row hists_rows[8]; /* of each probe */
	size_t hists_count;
	unsigned hists_reads;	/* calls of tracer_hists_read() */
	struct lengths lengths; /* of CPU 0 */
	struct thread_times times[8];
	size_t times_count;
	struct scripted_gone {
		struct gone_key key;
		struct gone gone;
	} gone[8]; /* ended threads, for tracer_times_read() */
	size_t gone_count;
	unsigned times_forgotten; /* calls of tracer_times_forget() */

	uint64_t window;
	struct arena *arena;
	uint32_t *words;
};

/* The last tracer that was created; NULL: none, or it was freed. */
static struct tracer *scripted;

/* Errors of the next calls, a negative errno; 0: the call works. Outlives tracers. */
static int scripted_errors[SCRIPTED_CALLS_COUNT];

/* Functions that fail leave `why` empty. */
static bool scripted_silent;

/* Makes a function fail from now on, with a negative errno; 0: it works again. */
static inline void scripted_fail(enum scripted_call call, int error)
{
	scripted_errors[call] = error;
}

/* The map `held`, which jobs read on another thread. */
static struct scripted_held {
	struct allocation_key key;
	struct allocation allocation;
} scripted_held[SCRIPTED_EVENTS];
static size_t scripted_held_count;
static pthread_mutex_t scripted_held_lock = PTHREAD_MUTEX_INITIALIZER;

/* Adds an allocation to the map `held`. */
static inline void scripted_hold(const struct allocation_key *key,
				 const struct allocation *allocation)
{
	pthread_mutex_lock(&scripted_held_lock);
	assert_true(scripted_held_count < SCRIPTED_EVENTS);
	scripted_held[scripted_held_count++] = (struct scripted_held){*key, *allocation};
	pthread_mutex_unlock(&scripted_held_lock);
}

/* Empties the map `held`. (A stop doesn't: readings that were begun still see the map.) */
static inline void scripted_free_held(void)
{
	pthread_mutex_lock(&scripted_held_lock);
	scripted_held_count = 0;
	pthread_mutex_unlock(&scripted_held_lock);
}

/* Returns whether the map `held` has an allocation at that address. */
static inline bool scripted_is_held(uint64_t address)
{
	bool is_held = false;

	pthread_mutex_lock(&scripted_held_lock);
	for (size_t i = 0; i < scripted_held_count; i++)
		is_held |= scripted_held[i].key.address == address;
	pthread_mutex_unlock(&scripted_held_lock);
	return is_held;
}

/* Adds an event of a process's life, for tracer_read_life(). */
static inline void scripted_life(const struct life_event *event)
{
	assert_true(scripted->waiting_count < SCRIPTED_EVENTS);
	scripted->waiting[scripted->waiting_count++] = (struct scripted_event){
		.kind = event->kind == LIFE_MOVED ? SCRIPTED_MOVED : SCRIPTED_LIFE, .life = *event};
}

/* Adds the paths of a pair of cgroups, "/a/b" from the root down, or NULL: none. */
static inline void scripted_group(const struct cgroup_key *key, const char *v2, const char *v1)
{
	struct group_event *event = calloc(1, sizeof(*event));
	const char *paths[2] = {v2, v1};
	size_t at = 0;

	assert_non_null(event);
	event->kind = LIFE_GROUP;
	event->key = *key;
	for (int i = 0; i < 2; i++) {
		size_t from = at, end = paths[i] ? strlen(paths[i]) : 0;

		while (end > 0) {
			size_t begin = end;

			while (begin > 0 && paths[i][begin - 1] != '/')
				begin--;
			memcpy(event->names + at, paths[i] + begin, end - begin);
			at += end - begin;
			event->names[at++] = '\0';
			end = begin ? begin - 1 : 0;
		}
		*(i ? &event->v1_bytes : &event->v2_bytes) = (uint16_t)(at - from);
	}
	assert_true(scripted->waiting_count < SCRIPTED_EVENTS);
	scripted->waiting[scripted->waiting_count++] =
		(struct scripted_event){.kind = SCRIPTED_GROUP, .group = event};
}

/* Adds a stack that is new in the current window, for tracer_read_stacks(). */
static inline void scripted_stack(const struct stack *stack, const uint64_t *words)
{
	struct scripted_taken *taken = &scripted->stacks[scripted->stacks_count++];

	assert_true(scripted->stacks_count <= SCRIPTED_EVENTS);
	assert_true(stack->words_count <= SCRIPTED_WORDS);
	taken->stack = *stack;
	taken->stack.window = scripted->window;
	memcpy(taken->words, words, stack->words_count * sizeof(*words));
}

/* Adds a count to the current window, for tracer_swap(); counts it as a sample, too. */
static inline void scripted_count(const struct count_key *key, const struct stack_count *count)
{
	assert_true(scripted->counts_count < SCRIPTED_EVENTS);
	scripted->counts[scripted->counts_count++] = (struct scripted_counted){*key, *count};
	scripted->sum.samples[key->stack.probe] += count->samples;
}

/* Lets the kernel's side add a target by itself, as it does at a fork. */
static inline void scripted_target(pid_t tgid, const struct target_value *value)
{
	void *place;

	assert_true(map_put(scripted->targets, &tgid, &place) >= 0);
	memcpy(place, value, sizeof(*value));
}

/* Returns the last verdict on a name; 0: none. */
static inline int scripted_verdict_on(const char *comm)
{
	int word = 0;

	for (size_t i = 0; i < scripted->verdicts_count; i++) {
		const struct verdict_key *on = &scripted->verdicts[i].on;

		if (on->on == VERDICT_ON_NAME && strncmp(on->comm, comm, COMM_BYTES) == 0)
			word = (int)scripted->verdicts[i].word;
	}
	return word;
}

/* Returns for what the kernel's side samples a process; 0: it is no target. */
static inline uint32_t scripted_probes(pid_t tgid)
{
	struct target_value value;

	return tracer_target_get(scripted, tgid, &value) == 0 ? value.probes : 0;
}

static inline int scripted_result(enum scripted_call call, struct why *why)
{
	if (scripted_errors[call] && !scripted_silent)
		why_set(why, "scripted error %d", scripted_errors[call]);
	return scripted_errors[call];
}

/* ---- kernel/tracer.h ---- */

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

void tracer_read_stacks(struct tracer *tracer)
{
	tracer_read_life(tracer);
	size_t count = tracer->stacks_count;

	tracer->stacks_count = 0;
	for (size_t i = 0; i < count; i++)
		tracer->events.stack(tracer->events.arg, &tracer->stacks[i].stack,
				     tracer->stacks[i].words);
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

int tracer_swap(struct tracer *tracer,
		void (*each)(void *arg, const struct count_key *key,
			     const struct stack_count *count),
		void *arg)
{
	if (!tracer->started)
		return 0;
	tracer->window++;
	tracer_read_stacks(tracer);
	size_t count = tracer->counts_count;
	tracer->counts_count = 0;
	for (size_t i = 0; i < count && !scripted_errors[SCRIPTED_SWAP]; i++)
		each(arg, &tracer->counts[i].key, &tracer->counts[i].count);
	return scripted_errors[SCRIPTED_SWAP];
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

/* ---- probes/tracer_*.h, kernel/tracer_waits.h ---- */

int tracer_offcpu(struct tracer *tracer, const struct offcpu_settings *settings, struct why *why)
{
	if (!scripted_errors[SCRIPTED_OFFCPU]) {
		tracer->offcpu = true;
		tracer->offcpu_settings = *settings;
	}
	return scripted_result(SCRIPTED_OFFCPU, why);
}

void tracer_offcpu_stop(struct tracer *tracer)
{
	tracer->offcpu = false;
}

int tracer_waiting_open(const struct tracer *tracer)
{
	(void)tracer;
	return -ENOENT;
}

int tracer_iterate(int fd)
{
	(void)fd;
	return 0;
}

uint64_t tracer_unseen_waits(const struct tracer *tracer)
{
	(void)tracer;
	return 0;
}

int tracer_faults(struct tracer *tracer, uint64_t sample_bytes, struct why *why)
{
	if (!scripted_errors[SCRIPTED_FAULTS]) {
		tracer->faults = true;
		tracer->fault_bytes = sample_bytes;
	}
	return scripted_result(SCRIPTED_FAULTS, why);
}

void tracer_faults_stop(struct tracer *tracer)
{
	tracer->faults = false;
}

const char *tracer_faults_limit(const struct tracer *tracer)
{
	(void)tracer;
	return "";
}

int tracer_calls(struct tracer *tracer, uint64_t sample_bytes, struct why *why)
{
	if (!scripted_errors[SCRIPTED_CALLS]) {
		if (!tracer->calls)
			scripted_free_held();
		tracer->calls = true;
		tracer->sample_bytes = sample_bytes;
	}
	return scripted_result(SCRIPTED_CALLS, why);
}

void tracer_calls_stop(struct tracer *tracer)
{
	tracer->calls = false;
}

/* There is nothing that could be attached. */
int tracer_call_programs(const struct tracer *tracer, struct call_programs *programs)
{
	(void)tracer, (void)programs;
	return -ENOENT;
}

/* Gives a descriptor of no map. */
int tracer_held_fd(const struct tracer *tracer)
{
	(void)tracer;
	return scripted_errors[SCRIPTED_HELD_FD] ? scripted_errors[SCRIPTED_HELD_FD] : dup(0);
}

int tracer_held_read(int fd,
		     bool (*each)(void *arg, const struct allocation_key *key,
				  const struct allocation *allocation),
		     void *arg)
{
	size_t kept = 0;

	assert_true(fd >= 0);
	pthread_mutex_lock(&scripted_held_lock);
	for (size_t i = 0; i < scripted_held_count && !scripted_errors[SCRIPTED_HELD_READ]; i++) {
		const struct scripted_held entry = scripted_held[i];

		if (each(arg, &entry.key, &entry.allocation))
			scripted_held[kept++] = entry;
	}
	if (!scripted_errors[SCRIPTED_HELD_READ])
		scripted_held_count = kept;
	pthread_mutex_unlock(&scripted_held_lock);
	return scripted_errors[SCRIPTED_HELD_READ];
}

uint32_t tracer_held_max(const struct tracer *tracer)
{
	return tracer->calls ? tracer->sizes.allocations : 0;
}

int tracer_hists(struct tracer *tracer, const struct sched_hists_settings *settings,
		 struct why *why)
{
	if (!scripted_errors[SCRIPTED_HISTS]) {
		tracer->hists = true;
		tracer->hists_settings = *settings;
	}
	return scripted_result(SCRIPTED_HISTS, why);
}

void tracer_hists_stop(struct tracer *tracer)
{
	tracer->hists = false;
}

int tracer_hists_read(struct tracer *tracer, enum sched_probe probe,
		      void (*each)(void *arg, const struct hist_row *row), void *arg)
{
	(void)probe;
	tracer->hists_reads++;
	for (size_t i = 0; i < tracer->hists_count; i++)
		each(arg, &tracer->hists_rows[i]);
	return 0;
}

int tracer_lengths_read(struct tracer *tracer,
			void (*each)(void *arg, unsigned cpu, const struct lengths *lengths),
			void *arg)
{
	each(arg, 0, &tracer->lengths);
	return 0;
}

void tracer_read_slow(struct tracer *tracer)
{
	(void)tracer;
}

int tracer_times_read(struct tracer *tracer, const struct times_reading *reading)
{
	if (!tracer->offcpu && !tracer->hists)
		return -ENOENT;
	for (size_t i = 0; i < tracer->times_count; i++)
		reading->thread(reading->arg, &tracer->times[i]);
	for (size_t i = 0; i < tracer->gone_count; i++)
		reading->gone(reading->arg, &tracer->gone[i].key, &tracer->gone[i].gone);
	return scripted_errors[SCRIPTED_TIMES_READ];
}

void tracer_times_forget(struct tracer *tracer, const struct gone_key *key)
{
	(void)key;
	tracer->times_forgotten++;
}

void tracer_times_counted(const struct tracer *tracer, struct times_counted *counted)
{
	*counted = (struct times_counted){.session = tracer->starts, .each = tracer->hists};
}

void tracer_times_state(const struct tracer *tracer, struct times_state *state)
{
	*state = (struct times_state){.is_on = tracer->offcpu || tracer->hists, .why = ""};
}
