/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a test says that the kernel's side does (scripted_life(), scripted_stack(), …,
 * scripted_fail()), and what that side was told: struct tracer. Included by scripted_tracer.h.
 */
#pragma once

#include "unit/lib/unit.h"

#include <pthread.h>

#include "base/map.h"
#include "base/why.h"
#include "kernel/halves.h"
#include "kernel/preload.h"
#include "kernel/tracer.h"
#include "kernel/tracer_waits.h"
#include "kernel/window_counts.h"
#include "hooks/tracer_cost_counters.h"
#include "hooks/tracer_costs.h"
#include "hooks/tracer_held.h"
#include "hooks/tracer_memory.h"
#include "hooks/tracer_sched.h"
#include "hooks/tracer_times.h"
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
	SCRIPTED_COSTS,
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
	uint32_t foreseen;   /* told by tracer_foresee_runtimes() */
	uint32_t runtimes;   /* told by tracer_walk_runtimes() */
	bool awaits_walkers; /* written by the test */
	unsigned budget_percent;
	struct offcpu_settings offcpu_settings;
	struct sched_hists_settings hists_settings;
	uint64_t fault_bytes, sample_bytes;
	bool keeps_age;
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
	size_t stacks_part; /* most stacks of one reading; 0: all */
	struct scripted_counted counts[SCRIPTED_EVENTS];
	size_t counts_count;
	struct counters sum;
	struct tracer_looks looks;
	uint32_t thinned;	       /* tracer_thinned() of each probe; 0 counts as 1 */
	struct hist_row hists_rows[8]; /* of each probe */
	size_t hists_count;
	unsigned hists_reads;		      /* calls of tracer_hists_read() */
	struct hist_scale scales[SCALED_MAX]; /* of scaled measurements that are on … */
	unsigned scaled_count;
	struct hist_cell cells[8]; /* … and of each what is taken each time */
	size_t cells_count;
	struct lengths lengths; /* of CPU 0 */
	struct thread_times times[8];
	size_t times_count;
	struct scripted_gone {
		struct gone_key key;
		struct gone gone;
	} gone[8]; /* ended threads, for tracer_times_read() */
	size_t gone_count;
	unsigned times_forgotten;    /* calls of tracer_times_forget() */
	struct thread_cost costs[8]; /* of threads that exist */
	size_t costs_count;
	struct cost_events cost_events;
	bool counts_costs;
	uint32_t counting; /* 1 << enum cost_counter */

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
