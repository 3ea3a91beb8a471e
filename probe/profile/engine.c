// SPDX-License-Identifier: GPL-2.0-only
#include "profile/engine_state.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "profile/codes_java.h"
#include "profile/codes_python.h"
#include "profile/kind.h"
#include "profile/waiting.h"

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

	waiting_look_soon(engine->waiting);
}

static bool is_arming(void *arg)
{
	const struct engine *engine = arg;

	return engine->running &&
	       (targets_are_arming(engine->targets) || allocators_are_arming(engine->allocators));
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
		.ledger = heaps_ledger(engine->heaps),
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
		[CODES_PYTHON] = {&codes_python, CODES_BYTES},
		[CODES_JAVA] = {&codes_java, JAVA_BYTES},
	};
	const struct engine_setup *setup = &engine->setup;
	int r = 0;

	for (int i = 0; r == 0 && i < CODES_KINDS; i++)
		r = codes_new(&engine->codes[i], setup->loop, setup->urgent,
			      targets_table(engine->targets), kinds[i].kind, kinds[i].bytes_max);
	return r;
}

static int engine_init(struct engine *engine)
{
	const struct engine_setup *setup = &engine->setup;
	struct tracer_events events = {
		.stack = engine_on_stack,
		.code = engine_on_code,
		.life = engine_on_life,
		.slow = on_slow,
		.mapped = engine_on_mapped,
		.waits = on_waits,
		.arg = engine,
	};
	int r = tracer_new(&engine->tracer, setup->loop, &setup->sizes, &events);

	arming_init(&engine->arming, setup->loop, is_arming, engine);
	if (r == 0) {
		tracer_set_budget(engine->tracer, DEFAULT_MAX_OVERHEAD);
		sampling_init(&engine->sampling, engine->tracer);
	}
	if (r == 0)
		r = symbolizer_new(&engine->symbolizer);
	if (r == 0)
		r = symbol_files_new(&engine->files, setup->foreign);
	if (r == 0)
		r = targets_new(&engine->targets, setup->loop, engine->tracer, engine->files,
				setup->urgent, setup->sizes.targets);
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
		r = allocators_new(&engine->allocators, setup->loop, setup->urgent, engine->tracer,
				   engine->targets);
	engine->sampling.allocators = engine->allocators;
	if (r == 0)
		r = times_new(&engine->times, setup->sizes.targets);
	if (r == 0)
		r = waiting_new(&engine->waiting, setup->loop, engine->tracer, setup->urgent);
	struct heaps_setup heaps = {setup->bulk, engine->tracer, engine->targets};
	if (r == 0)
		r = heaps_new(&engine->heaps, &heaps);
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
	waiting_free(engine->waiting);
	allocators_free(engine->allocators);
	agents_free(engine->agents);
	jfr_free(engine->jfr);
	heaps_free(engine->heaps);
	targets_free(engine->targets);
	for (int i = 0; i < CODES_KINDS; i++)
		codes_free(engine->codes[i]);
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

/* Makes exactly these sample; what was held is forgotten where nobody looks at it any more. */
static void sample(struct engine *engine, uint32_t probes)
{
	const uint32_t calls = 1u << PROBE_MEM_GLIBC;
	bool ran = engine->sampling.running & calls;
	uint64_t now_ns = loop_now_ns();

	sampling_set(&engine->sampling, probes);
	if (!ran && engine->sampling.running & calls)
		heaps_start(engine->heaps, now_ns);
	else if (ran && !(engine->sampling.running & calls))
		heaps_stop(engine->heaps);
}

/* The last subscriber has gone: nothing stays attached, nothing wakes us. */
static void stop(struct engine *engine)
{
	targets_kernel_gone(engine->targets);
	agents_stop(engine->agents);
	jfr_stop(engine->jfr);
	sample(engine, 0);
	tracer_stop(engine->tracer);
	drain_stop(engine->drain);
	engine->running = false;
	engine_reselect(engine);
	targets_sweep(engine->targets, UINT64_MAX);
	symbol_files_trim(engine->files, 0);
	malloc_trim(0);
}

static int start(struct engine *engine, char *why, size_t why_bytes)
{
	int r = tracer_start(engine->tracer, why, why_bytes);

	if (r < 0)
		return r;
	engine->running = true;
	targets_kernel_there(engine->targets);
	drain_start(engine->drain);
	return 0;
}

static int new_profile(struct subscriber *subscriber, enum probe probe)
{
	struct profile *profile;
	const struct engine *engine = subscriber->engine;
	bool by_clock = kind_get(probe)->hooks == HOOKS_CLOCK;
	int r = profile_new(&profile, probe, time(NULL), by_clock ? engine->sampling.period_ns : 0);

	if (r == 0)
		subscriber->profiles[probe] = profile;
	return r;
}

static void subscriber_free(struct subscriber *subscriber)
{
	for (int i = 0; i < PROBE_COUNT; i++)
		profile_unref(subscriber->profiles[i]);
	free(subscriber->ids);
	free(subscriber);
}

static int copy_ids(struct subscriber *subscriber)
{
	struct chosen *chosen = &subscriber->subscription.chosen;

	if (!chosen->count)
		return 0;
	subscriber->ids = calloc(chosen->count, sizeof(*subscriber->ids));
	if (!subscriber->ids)
		return -ENOMEM;
	memcpy(subscriber->ids, chosen->ids, chosen->count * sizeof(*subscriber->ids));
	chosen->ids = subscriber->ids;
	return 0;
}

static int subscriber_new(struct subscriber **ret, struct engine *engine,
			  const struct subscription *subscription)
{
	struct subscriber *subscriber = calloc(1, sizeof(*subscriber));

	if (!subscriber)
		return -ENOMEM;
	subscriber->engine = engine;
	subscriber->subscription = *subscription;
	int r = copy_ids(subscriber);
	for (int i = 0; r == 0 && i < PROBE_COUNT; i++) {
		if (subscription->probes & 1u << i)
			r = new_profile(subscriber, i);
	}
	if (r < 0)
		subscriber_free(subscriber);
	else
		*ret = subscriber;
	return r;
}

static int free_number(const struct engine *engine)
{
	for (int i = 0; i < SUBSCRIBERS_MAX; i++) {
		if (!engine->subscribers[i])
			return i;
	}
	return -EBUSY;
}

/* All that subscribers want. */
static uint32_t wanted_probes(const struct engine *engine)
{
	uint32_t probes = 0;

	for (int i = 0; i < SUBSCRIBERS_MAX; i++) {
		if (engine->subscribers[i])
			probes |= engine->subscribers[i]->subscription.probes;
	}
	return probes & WANTED_STACKS;
}

/* Targets first, so that the first sample finds them. */
static int begin_sampling(struct engine *engine, char *why, size_t why_bytes)
{
	uint32_t probes = wanted_probes(engine);

	sampling_prepare(&engine->sampling, probes);
	int r = engine_reselect(engine);
	if (r < 0) {
		snprintf(why, why_bytes, "/proc can't be read: %s", strerror(-r));
		return r;
	}
	sample(engine, probes);
	return 0;
}

static void drop_profiles(struct subscriber *subscriber, uint32_t probes)
{
	subscriber->subscription.probes &= ~probes;
	for (int i = 0; i < PROBE_COUNT; i++) {
		if (probes & 1u << i)
			profile_unref(TAKE_PTR(subscriber->profiles[i]));
	}
}

/* Those that sampled before have stacks in this window that aren't for the subscriber. */
static void set_since(struct subscriber *subscriber, uint32_t probes, uint32_t ran)
{
	struct engine *engine = subscriber->engine;

	for (int i = 0; i < PROBE_COUNT; i++) {
		if (probes & 1u << i)
			subscriber->since_window[i] =
				ran & 1u << i ? NOT_YET : tracer_window(engine->tracer);
	}
	if (probes & 1u << PROBE_MEM_GLIBC)
		engine_unheld(engine, subscriber->unheld);
	if (probes & ran)
		drain_soon(engine->drain); /* from there on they count */
}

/* Starts what a subscriber wants of `probes`, and leaves out what can't run. */
static int collect(struct subscriber *subscriber, uint32_t probes, char *why, size_t why_bytes)
{
	struct engine *engine = subscriber->engine;
	uint32_t ran = engine->sampling.running;
	int r = begin_sampling(engine, why, why_bytes);

	if (r < 0)
		return r;
	uint32_t missing = probes & WANTED_STACKS & ~engine->sampling.running;
	set_since(subscriber, probes & ~missing, ran);
	if (!missing)
		return 0;
	drop_profiles(subscriber, missing);
	return engine_reselect(engine);
}

/* Whether it got enough of what it wished; else `why` is the first one's that it lacks. */
static int check_wish(const struct subscriber *subscriber, const struct subscription *wish,
		      char *why, size_t why_bytes)
{
	uint32_t missing = wish->probes & ~subscriber->subscription.probes;

	if (!missing || (!wish->all && subscriber->subscription.probes))
		return 0;
	const struct sampling_failure *failure =
		&subscriber->engine->sampling.failures[__builtin_ctz(missing)];
	snprintf(why, why_bytes, "%s", failure->why);
	return failure->error ? failure->error : -ENOTSUP;
}

int engine_subscribe(struct engine *engine, const struct subscription *subscription,
		     struct subscriber **ret, char *why, size_t why_bytes)
{
	struct subscriber *subscriber = NULL;
	int number = free_number(engine);
	int r = number < 0 ? number : subscriber_new(&subscriber, engine, subscription);

	if (r < 0) {
		snprintf(why, why_bytes, "%s", strerror(-r));
		return r;
	}
	if (!engine->running)
		r = start(engine, why, why_bytes);
	if (r < 0) {
		subscriber_free(subscriber);
		return r;
	}
	subscriber->number = (unsigned)number;
	engine->subscribers[number] = subscriber;
	r = collect(subscriber, subscription->probes, why, why_bytes);
	if (r == 0)
		r = check_wish(subscriber, subscription, why, why_bytes);
	if (r < 0) {
		engine_unsubscribe(engine, subscriber);
		return r;
	}
	*ret = subscriber;
	return 0;
}

int subscriber_add_probes(struct subscriber *subscriber, uint32_t probes)
{
	char why[256];
	int r = 0;

	probes &= WANTED_STACKS & ~subscriber->subscription.probes;
	for (int i = 0; r == 0 && i < PROBE_COUNT; i++) {
		if (probes & 1u << i)
			r = new_profile(subscriber, i);
	}
	if (r == 0) {
		subscriber->subscription.probes |= probes;
		r = collect(subscriber, probes, why, sizeof(why));
	}
	if (r < 0)
		subscriber_remove_probes(subscriber, probes);
	return r;
}

void subscriber_remove_probes(struct subscriber *subscriber, uint32_t probes)
{
	struct engine *engine = subscriber->engine;

	drop_profiles(subscriber, probes);
	sample(engine, wanted_probes(engine));
	engine_reselect(engine);
}

uint32_t subscriber_probes(const struct subscriber *subscriber)
{
	return subscriber->subscription.probes & WANTED_STACKS;
}

int engine_failure(const struct engine *engine, enum probe probe, const char **why)
{
	*why = engine->sampling.failures[probe].why;
	return engine->sampling.failures[probe].error;
}

bool engine_when_armed(struct engine *engine, void (*done)(void *arg), void *arg)
{
	return arming_wait(&engine->arming, done, arg);
}

void engine_forget(struct engine *engine, const void *arg)
{
	arming_forget(&engine->arming, arg);
}

void engine_unsubscribe(struct engine *engine, struct subscriber *subscriber)
{
	bool last = true;

	if (engine->java_of == subscriber)
		engine->java_of = NULL;
	engine->subscribers[subscriber->number] = NULL;
	for (int i = 0; i < SUBSCRIBERS_MAX; i++)
		last = last && !engine->subscribers[i];
	if (last && engine->running) {
		stop(engine);
	} else {
		sample(engine, wanted_probes(engine));
		engine_reselect(engine);
	}
	subscriber_free(subscriber); /* after the selection that had its ids */
}

void subscriber_set_detail(struct subscriber *subscriber, const struct detail *detail)
{
	subscriber->subscription.detail = *detail;
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
	tracer_set_budget(engine->tracer, percent);
}

void engine_drain(struct engine *engine, void (*done)(void *arg), void *arg)
{
	drain_request(engine->drain, done, arg);
}

struct profile *subscriber_profile(const struct subscriber *subscriber, enum probe probe)
{
	return subscriber->profiles[probe];
}

struct profile *subscriber_take_profile(struct subscriber *subscriber, enum probe probe)
{
	struct profile *old = subscriber->profiles[probe];

	if (new_profile(subscriber, probe) < 0)
		return NULL;
	subscriber->profiles[probe]->from = drain_time(subscriber->engine->drain);
	subscriber->profiles[probe]->until = subscriber->profiles[probe]->from;
	return old;
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
