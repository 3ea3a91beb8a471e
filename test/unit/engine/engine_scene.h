/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An engine over a scripted tracer, two processes, and what the kernel's side takes of them. */
#pragma once

#include "unit/lib/scripted_core.h"

#include "profile/profile.h"

#define ON(probe) (1u << PROBE_##probe)

struct scene {
	struct scripted_core core;
	struct engine *engine; /* of the core */
	struct process process, other;
	struct why why;
};

static inline int scene_begin(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));

	assert_non_null(scene);
	memset(scripted_errors, 0, sizeof(scripted_errors));
	scripted_silent = false;
	scripted_core_begin(&scene->core);
	scene->engine = scene->core.core.engine;
	process_begin(&scene->process, "worker");
	process_begin(&scene->other, "other");
	*state = scene;
	return 0;
}

/* Subscribers that are left go with the engine. */
static inline int scene_end(void **state)
{
	struct scene *scene = *state;

	process_end(&scene->process);
	process_end(&scene->other);
	scripted_core_end(&scene->core);
	assert_null(scripted);
	free(scene);
	return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scene_begin, scene_end)

/* ---- subscribers ---- */

static inline int scene_try(struct scene *scene, const struct subscription *subscription,
			    struct subscriber **ret)
{
	scene->why.text[0] = '\0';
	return engine_subscribe(scene->engine, subscription, ret, &scene->why);
}

/* Subscribes to one process; it fails unless all probes run. */
static inline struct subscriber *scene_subscribe(struct scene *scene, const struct process *process,
						 uint32_t probes)
{
	struct process_id id = {process->pid, process->start_ticks};
	struct subscription subscription = {
		.probes = probes, .all = true, .chosen = {.ids = &id, .count = 1}};
	struct subscriber *subscriber;

	assert_int_equal(scene_try(scene, &subscription, &subscriber), 0);
	assert_string_equal(scene->why.text, "");
	return subscriber;
}

/* Subscribes to what the snoopers of a feature choose. */
static inline struct subscriber *scene_follow(struct scene *scene, enum engine_feature feature,
					      uint32_t probes)
{
	struct subscription subscription = {.feature = feature, .probes = probes, .all = true};
	struct subscriber *subscriber;

	assert_int_equal(scene_try(scene, &subscription, &subscriber), 0);
	return subscriber;
}

/* Sets snoopers that choose one process; NULL: none. */
static inline void scene_snoop(struct scene *scene, enum engine_feature feature,
			       const struct process *process)
{
	_cleanup_snoopers_ struct snoopers *snoopers = NULL;

	if (process) {
		assert_int_equal(snoopers_new(&snoopers), 0);
		assert_int_equal(snoopers_add_id(snoopers, process->pid), 0);
	}
	assert_int_equal(engine_set_snoopers(scene->engine, feature, snoopers), 0);
}

struct scene_expected {
	pid_t pid;
	uint32_t probes;
};

static bool scene_is_sampled(void *arg)
{
	const struct scene_expected *expected = arg;

	return scripted_probes(expected->pid) == expected->probes;
}

/* Waits until the kernel's side samples a process for exactly these probes. */
static inline void scene_sampled(struct scene *scene, const struct process *process,
				 uint32_t probes)
{
	struct scene_expected expected = {process->pid, probes};

	scripted_core_until(&scene->core, scene_is_sampled, &expected);
}

/* ---- what the kernel's side takes ---- */

/* Returns the key of the process's stack of that number. */
static inline struct stack_key scene_key(const struct process *process, enum probe probe,
					 uint64_t number)
{
	return (struct stack_key){.hash = number, .tgid = (uint32_t)process->pid, .probe = probe};
}

/* A stack of two addresses comes, of an incarnation with that id. */
static inline void scene_send_as(const struct stack_key *key, uint64_t target_id)
{
	uint64_t words[2] = {(uint64_t)FRAME_NATIVE << FRAME_KIND_SHIFT | 0x1000,
			     (uint64_t)FRAME_NATIVE_RETURN << FRAME_KIND_SHIFT | 0x2000};
	struct stack stack = {
		.key = *key,
		.target_id = target_id,
		.time_ns = loop_now_ns(),
		.comm = "worker",
		.words_count = 2,
	};

	scripted_stack(&stack, words);
}

static inline void scene_send(const struct stack_key *key)
{
	struct target_value value = {0};

	assert_int_equal(tracer_target_get(scripted, (pid_t)key->tgid, &value), 0);
	scene_send_as(key, value.id);
}

/* A stack was met so many times. */
static inline void scene_count(const struct stack_key *key, uint64_t samples)
{
	struct count_key counted = {.stack = *key, .tid = key->tgid, .cpu = CPU_ANY};
	struct stack_count count = {.weight = samples, .samples = samples, .events = samples};

	scripted_count(&counted, &count);
}

/* Both, of the process's first stack. */
static inline void scene_sample(const struct process *process, enum probe probe, uint64_t samples)
{
	struct stack_key key = scene_key(process, probe, 1);

	scene_send(&key);
	scene_count(&key, samples);
}

/* ---- what comes of it ---- */

static inline uint64_t scene_weight(const struct subscriber *subscriber, enum probe probe)
{
	const struct profile *profile = subscriber_profile(subscriber, probe);

	assert_non_null(profile);
	return profile->weight;
}

static inline struct engine_stats scene_stats(const struct scene *scene)
{
	struct engine_stats stats;

	engine_stats(scene->engine, &stats);
	return stats;
}

struct scene_windows {
	const struct scene *scene;
	uint64_t windows;
};

static bool scene_are_windows(void *arg)
{
	const struct scene_windows *expected = arg;
	struct engine_stats stats;

	engine_stats(expected->scene->engine, &stats);
	return stats.drain.windows >= expected->windows;
}

/* Waits until that many windows were read since the start. */
static inline void scene_until_windows(struct scene *scene, uint64_t windows)
{
	struct scene_windows expected = {scene, windows};

	scripted_core_until(&scene->core, scene_are_windows, &expected);
}
