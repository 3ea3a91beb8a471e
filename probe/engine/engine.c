// SPDX-License-Identifier: GPL-2.0-or-later
/* Creates and frees an engine's parts; simple questions to them. */
#include "engine/engine_state.h"

#include <errno.h>
#include <stdlib.h>

#include "code/code_java.h"
#include "code/code_python.h"
#include "kernel/blocked_walk.h"
#include "kernel/preload.h"
#include "runtime/made_dump.h"

#define DEFAULT_MAX_OVERHEAD 3 /* percent */
#define CODES_BYTES	     (64u * 1024 * 1024)
#define JAVA_BYTES	     (64u * 1024 * 1024)

static void on_slow(void *arg, const struct slow_event *event, const struct slice *slices)
{
	struct engine *engine = arg;

	if (engine->slow)
		engine->slow(engine->slow_arg, event, slices);
}

static void on_waits(void *arg)
{
	struct engine *engine = arg;

	blocked_walk_look_soon(engine->waiting);
}

/* Blocked threads are walked again: their stacks lack what could not be walked. */
static void on_walkers(void *arg)
{
	struct engine *engine = arg;

	targets_meet_walkers(engine->targets);
	blocked_walk_look_soon(engine->waiting);
}

static void on_maps(void *arg)
{
	struct engine *engine = arg;

	allocators_refresh(engine->allocators);
	event_files_refresh(engine->event_files);
}

static bool is_arming(void *arg)
{
	const struct engine *engine = arg;

	return engine->running && (engine->changing || targets_are_arming(engine->targets) ||
				   allocators_are_arming(engine->allocators) ||
				   event_files_are_arming(engine->event_files));
}

static int engine_init_drain(struct engine *engine)
{
	const struct engine_setup *setup = &engine->setup;
	struct drain_setup drain = {
		.loop = setup->loop,
		.urgent = setup->urgent,
		.bulk = setup->bulk,
		.tracer = engine->tracer,
		.waiting = engine->waiting,
		.targets = engine->targets,
		.files = engine->files,
		.symbolizer = engine->symbolizer,
		.stack_cache = live_heap_stack_cache(engine->live_heap),
		.stacks_max = setup->sizes.stacks,
		.began = engine_window_began,
		.others = engine_ask_others,
		.told_by_others = engine_told_by_others,
		.wanting = engine_wanting,
		.add_sinks = engine_add_sinks,
		.ended = engine_drain_ended,
		.arg = engine,
	};
	for (int i = 0; i < CODES_KINDS; i++)
		drain.codes[i] = engine->codes[i];
	return drain_new(&engine->drain, &drain);
}

static int engine_init_codes(struct engine *engine)
{
	static const struct {
		const struct code_kind *kind;
		size_t bytes_max;
	} kinds[CODES_KINDS] = {
		[CODES_PYTHON] = {&code_kind_python, CODES_BYTES},
		[CODES_JAVA] = {&code_kind_java, JAVA_BYTES},
	};
	const struct engine_setup *setup = &engine->setup;
	int r = 0;

	targets_keep_code(engine->targets, &code_cache_ops);
	for (int i = 0; r == 0 && i < CODES_KINDS; i++)
		r = code_cache_new(&engine->codes[i], setup->loop, setup->urgent,
				   targets_table(engine->targets), kinds[i].kind,
				   kinds[i].bytes_max);
	return r;
}

static int engine_init_points(struct engine *engine)
{
	const struct engine_setup *setup = &engine->setup;
	int r = allocators_new(&engine->allocators, setup->loop, setup->urgent, engine->tracer,
			       engine->targets);

	if (r == 0)
		r = event_files_new(&engine->event_files, setup->loop, setup->urgent,
				    engine->targets);
	if (r < 0)
		return r;
	probe_switch_set_points(&engine->sampling, engine->allocators, engine->event_files);
	targets_on_maps(engine->targets, on_maps, engine);
	return 0;
}

static int engine_init(struct engine *engine)
{
	const struct engine_setup *setup = &engine->setup;
	struct tracer_events events = {
		.stack = engine_on_stack,
		.code = engine_on_code,
		.told = engine_on_told,
		.life = engine_on_life,
		.group = engine_on_group,
		.moved = engine_on_moved,
		.slow = on_slow,
		.mapped = engine_on_mapped,
		.waits = on_waits,
		.walkers = on_walkers,
		.arg = engine,
	};
	int r = tracer_new(&engine->tracer, setup->loop, &setup->sizes, &events);

	if (r == 0 && setup->loads)
		r = tracer_load_ahead(engine->tracer, setup->loads);
	arming_init(&engine->arming, setup->loop, is_arming, engine);
	if (r == 0) {
		tracer_set_budget(engine->tracer, DEFAULT_MAX_OVERHEAD);
		probe_switch_init(&engine->sampling, engine->tracer);
	}
	if (r == 0)
		r = symbolizer_new(&engine->symbolizer);
	if (r == 0)
		r = symbol_files_new(&engine->files, setup->foreign);
	engine->lines = (struct render_lines){engine->files, setup->lines};
	if (r == 0)
		r = containers_new(&engine->containers, setup->loop, setup->names);
	if (r == 0)
		r = targets_new(&engine->targets, setup->loop, engine->tracer, engine->files,
				engine->containers, setup->urgent, setup->sizes.targets);
	if (r == 0 && !setup->sizes.python)
		targets_leave_python(engine->targets);
	if (r == 0 && !setup->sizes.java)
		targets_leave_java(engine->targets);
	if (r == 0)
		r = engine_init_codes(engine);
	if (r == 0)
		r = agents_new(&engine->agents, setup->loop, setup->foreign,
			       targets_table(engine->targets));
	if (r == 0)
		r = jfr_new(&engine->jfr, setup->loop, setup->foreign,
			    targets_table(engine->targets), engine_drain_soon, engine);
	if (r == 0)
		r = engine_init_points(engine);
	if (r == 0)
		r = times_new(&engine->times, setup->sizes.targets);
	if (r == 0)
		r = blocked_walk_new(&engine->waiting, setup->loop, engine->tracer, setup->urgent);
	struct live_heap_setup live_heap = {setup->bulk, engine->tracer, engine->targets};
	if (r == 0)
		r = live_heap_new(&engine->live_heap, &live_heap);
	return r < 0 ? r : engine_init_drain(engine);
}

int engine_new(struct engine **ret, const struct engine_setup *setup)
{
	struct engine *engine = calloc(1, sizeof(*engine));

	if (!engine)
		return -ENOMEM;
	engine->setup = *setup;
	int r = engine_init(engine);
	if (r < 0) {
		engine_free(engine);
		return r;
	}
	*ret = engine;
	return 0;
}

void engine_free(struct engine *engine)
{
	if (!engine)
		return;
	for (int i = 0; i < SUBSCRIBERS_MAX; i++) {
		if (engine->subscribers[i])
			engine_unsubscribe(engine, engine->subscribers[i]);
	}
	arming_done(&engine->arming);
	drain_free(engine->drain);
	blocked_walk_free(engine->waiting);
	allocators_free(engine->allocators);
	event_files_free(engine->event_files);
	agents_free(engine->agents);
	jfr_free(engine->jfr);
	live_heap_free(engine->live_heap);
	targets_free(engine->targets);
	containers_free(engine->containers);
	for (int i = 0; i < CODES_KINDS; i++)
		code_cache_free(engine->codes[i]);
	times_free(engine->times);
	tracer_free(engine->tracer);
	symbol_files_free(engine->files);
	symbolizer_free(engine->symbolizer);
	snoopers_unref(engine->joined);
	for (int i = 0; i < FEATURES; i++) {
		snoopers_unref(engine->joined_of[i]);
		snoopers_unref(engine->snoopers[i]);
	}
	free(engine);
}

int engine_set_host_root(struct engine *engine, const char *root)
{
	return containers_set_root(engine->containers, root);
}

void engine_set_changing(struct engine *engine, bool changing)
{
	engine->changing = changing;
}

const char *engine_says(const struct engine *engine, enum probe probe)
{
	const struct kind *kind = kind_get(probe);

	return kind->state ? kind->state(&engine->sampling.runs[probe]) : "";
}

int engine_failure(const struct engine *engine, enum probe probe, const char **why)
{
	*why = engine->sampling.failures[probe].why.text;
	return engine->sampling.failures[probe].error;
}

bool engine_when_armed(struct engine *engine, void (*done)(void *arg), void *arg)
{
	return engine_when_armed_within(engine, ARMING_NS, done, arg);
}

bool engine_when_armed_within(struct engine *engine, uint64_t wait_ns, void (*done)(void *arg),
			      void *arg)
{
	return arming_wait(&engine->arming, wait_ns, done, arg);
}

bool engine_prepare(struct engine *engine, uint32_t probes, const struct snoopers *snoopers,
		    void (*done)(void *arg), void *arg)
{
	const struct loadable *const *lists[PROBE_COUNT + 3];
	size_t count = 0;

	if (probes & ~WANTED_COSTS)
		lists[count++] = life_loads;

	for (int probe = 0; probe < PROBE_COUNT; probe++) {
		if (probes & 1u << probe)
			lists[count++] = kind_get(probe)->loads;
	}
	if (probes & WANTED_SCHED)
		lists[count++] = sched_loads;
	if (probes & WANTED_COSTS)
		lists[count++] = cost_loads;
	tracer_foresee_runtimes(engine->tracer,
				snoopers ? targets_foresee(engine->targets, snoopers, probes) : 0);
	return tracer_preload(engine->tracer, lists, count, done, arg);
}

void engine_forget(struct engine *engine, const void *arg)
{
	arming_forget(&engine->arming, arg);
	tracer_preload_forget(engine->tracer, arg);
}

struct containers *engine_containers(const struct engine *engine)
{
	return engine->containers;
}

struct tracer *engine_tracer(const struct engine *engine)
{
	return engine->tracer;
}

void engine_on_slow(struct engine *engine,
		    void (*slow)(void *arg, const struct slow_event *event,
				 const struct slice *slices),
		    void *arg)
{
	engine->slow = slow;
	engine->slow_arg = arg;
}

void engine_set_max_overhead(struct engine *engine, unsigned percent)
{
	bool is_more = !percent || percent > engine->max_overhead;

	tracer_set_budget(engine->tracer, percent);
	if (is_more && percent != engine->max_overhead)
		probe_switch_retry(&engine->sampling);
	engine->max_overhead = percent;
}

void engine_drain(struct engine *engine, void (*done)(void *arg), void *arg)
{
	drain_request(engine->drain, done, arg);
}

void engine_allocator(const struct engine *engine, const struct target *target,
		      struct allocator_view *view)
{
	allocators_of(engine->allocators, target, view);
}

void engine_targets(const struct engine *engine,
		    void (*each)(void *arg, const struct target *target), void *arg)
{
	targets_each(engine->targets, each, arg);
}

void engine_ended_cuts(const struct engine *engine, struct ended_cuts_part *sum)
{
	target_table_ended_cuts(targets_table(engine->targets), loop_now_ns(), sum);
}

const char *engine_map_flag(const struct engine *engine, const struct target *target)
{
	struct perfmap_process process = target_perfmap(target);

	return made_dump_has_names(target->dump) || perfmap_is_there(engine->files, &process)
		       ? NULL
		       : target->map_flag;
}

const struct target *engine_target(struct engine *engine, pid_t pid)
{
	const struct target *target = target_table_current(targets_table(engine->targets), pid);

	if (target && !target->group && loop_now_ns() >= target->retry_ns)
		targets_look_at(engine->targets, target);
	return target;
}

const struct target *engine_target_now(const struct engine *engine, pid_t pid, uint64_t start_ticks)
{
	const struct target *target = target_table_current(targets_table(engine->targets), pid);

	return target && target->start_ticks == start_ticks ? target : NULL;
}

const struct target *engine_target_once(const struct engine *engine, pid_t pid, uint64_t id)
{
	return target_table_find(targets_table(engine->targets), (uint32_t)pid, id);
}

const struct render_lines *engine_lines(const struct engine *engine)
{
	return &engine->lines;
}
