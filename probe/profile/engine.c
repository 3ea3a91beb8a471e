// SPDX-License-Identifier: GPL-2.0-only
#include "profile/engine.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "profile/drain.h"

#define DEFAULT_PERIOD_NS    (10 * NS_PER_MS)
#define DEFAULT_MAX_OVERHEAD 3 /* percent */
#define NOT_YET		     UINT64_MAX

struct subscriber {
	struct engine *engine;
	struct subscription subscription;
	struct process_id *ids; /* those that it chose */
	unsigned number;	/* its bit */
	uint64_t since_window;	/* its first; NOT_YET: the next one */
	struct profile *profiles[PROBE_COUNT];
};

struct engine {
	struct engine_setup setup;
	struct tracer *tracer;
	struct symbol_files *files;
	struct symbolizer *symbolizer;
	struct targets *targets;
	struct drain *drain;
	struct snoopers *snoopers;
	uint64_t period_ns;
	struct subscriber *subscribers[SUBSCRIBERS_MAX];
	bool running;
	struct arming arming;
	uint64_t lost_before; /* samples lost until the last drain */
};

/* ---- what the tracer and the drain tell and ask ---- */

static void on_life(void *arg, const struct life_event *event)
{
	struct engine *engine = arg;

	targets_on_life(engine->targets, event);
	if (target_table_is_crowded(targets_table(engine->targets)))
		drain_soon(engine->drain);
}

static void on_stack(void *arg, const struct stack *stack, const uint64_t *words)
{
	struct engine *engine = arg;

	drain_on_stack(engine->drain, stack, words);
	if (!target_table_find(targets_table(engine->targets), stack->key.tgid, stack->target_id))
		tracer_read_life(engine->tracer); /* its fork or exec came after the last look */
	targets_on_stack(engine->targets, stack, words, false);
}

static void window_began(void *arg, uint64_t window)
{
	struct engine *engine = arg;

	for (int i = 0; i < SUBSCRIBERS_MAX; i++) {
		struct subscriber *subscriber = engine->subscribers[i];

		if (subscriber && subscriber->since_window == NOT_YET)
			subscriber->since_window = window;
	}
}

static uint32_t wanting(void *arg, uint64_t window)
{
	const struct engine *engine = arg;
	uint32_t bits = 0;

	for (unsigned i = 0; i < SUBSCRIBERS_MAX; i++) {
		const struct subscriber *subscriber = engine->subscribers[i];

		if (subscriber && subscriber->since_window <= window)
			bits |= 1u << i;
	}
	return bits;
}

/* Samples (not events) lost since the start. */
static uint64_t lost_samples(const struct engine *engine)
{
	struct engine_stats stats;
	uint64_t sum = 0;

	engine_stats(engine, &stats);
	for (int i = 0; i < LOST_COUNT; i++) {
		if (i != LOST_LIFE_FULL && i != LOST_TARGETS_FULL)
			sum += stats.lost[i];
	}
	return sum;
}

static void add_sinks(void *arg, struct batch *batch, uint64_t window)
{
	struct engine *engine = arg;
	uint64_t lost = lost_samples(engine), newly = lost - engine->lost_before;

	engine->lost_before = lost;
	for (unsigned i = 0; i < SUBSCRIBERS_MAX; i++) {
		const struct subscriber *subscriber = engine->subscribers[i];

		if (!subscriber || subscriber->since_window > window)
			continue;
		for (int probe = 0; probe < PROBE_COUNT; probe++) {
			struct sink sink = {
				.bit = 1u << i,
				.thread_frame = subscriber->subscription.thread_frame,
				.profile = profile_ref(subscriber->profiles[probe]),
				.lost = newly,
			};

			if (sink.profile && batch_add_sink(batch, &sink) < 0)
				log_error("no memory for a window's profile");
		}
	}
}

/* Who subscribed in the middle of a drain has to get a window of its own. */
static bool drain_ended(void *arg)
{
	const struct engine *engine = arg;

	for (int i = 0; i < SUBSCRIBERS_MAX; i++) {
		if (engine->subscribers[i] && engine->subscribers[i]->since_window == NOT_YET)
			return true;
	}
	return false;
}

/* ---- the engine ---- */

static bool is_arming(void *arg)
{
	const struct engine *engine = arg;

	return engine->running && targets_are_arming(engine->targets);
}

static int engine_init(struct engine *engine)
{
	const struct engine_setup *setup = &engine->setup;
	struct tracer_events events = {.stack = on_stack, .life = on_life, .arg = engine};
	int r = tracer_new(&engine->tracer, setup->loop, &setup->sizes, &events);

	arming_init(&engine->arming, setup->loop, is_arming, engine);
	if (r == 0)
		tracer_set_budget(engine->tracer, DEFAULT_MAX_OVERHEAD);
	if (r == 0)
		r = symbolizer_new(&engine->symbolizer);
	if (r == 0)
		r = symbol_files_new(&engine->files, setup->foreign);
	if (r == 0)
		r = targets_new(&engine->targets, setup->loop, engine->tracer, engine->files,
				setup->urgent, setup->sizes.targets);
	if (r < 0)
		return r;
	struct drain_setup drain = {
		.loop = setup->loop,
		.urgent = setup->urgent,
		.bulk = setup->bulk,
		.tracer = engine->tracer,
		.targets = engine->targets,
		.files = engine->files,
		.symbolizer = engine->symbolizer,
		.stacks_max = setup->sizes.stacks,
		.began = window_began,
		.wanting = wanting,
		.add_sinks = add_sinks,
		.ended = drain_ended,
		.arg = engine,
	};
	return drain_new(&engine->drain, &drain);
}

int engine_new(struct engine **ret, const struct engine_setup *setup)
{
	struct engine *engine = calloc(1, sizeof(*engine));

	if (!engine)
		return -ENOMEM;
	engine->setup = *setup;
	engine->period_ns = DEFAULT_PERIOD_NS;
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
	targets_free(engine->targets);
	tracer_free(engine->tracer);
	symbol_files_free(engine->files);
	symbolizer_free(engine->symbolizer);
	snoopers_unref(engine->snoopers);
	free(engine);
}

static int reselect(struct engine *engine)
{
	struct selection selection = {.snoopers = engine->snoopers};

	for (unsigned i = 0; i < SUBSCRIBERS_MAX; i++) {
		const struct subscriber *subscriber = engine->subscribers[i];

		if (!subscriber)
			continue;
		if (subscriber->subscription.chosen.count)
			selection.chosen[i] = subscriber->subscription.chosen;
		else
			selection.followers |= 1u << i;
	}
	return targets_select(engine->targets, &selection);
}

/* The last subscriber has gone: nothing stays attached, nothing wakes us. */
static void stop(struct engine *engine)
{
	targets_kernel_gone(engine->targets);
	tracer_stop(engine->tracer);
	drain_stop(engine->drain);
	engine->running = false;
	reselect(engine);
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
	int r = profile_new(&profile, probe, time(NULL), subscriber->engine->period_ns);

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

/* Targets first, so that the first sample finds them. */
static int begin_sampling(struct engine *engine, char *why, size_t why_bytes)
{
	int r = tracer_load(engine->tracer, why, why_bytes);

	if (r < 0)
		return r;
	r = reselect(engine);
	if (r < 0) {
		snprintf(why, why_bytes, "/proc can't be read: %s", strerror(-r));
		return r;
	}
	return tracer_sample(engine->tracer, engine->period_ns, why, why_bytes);
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
	bool first = !engine->running;
	if (first)
		r = start(engine, why, why_bytes);
	if (r < 0) {
		subscriber_free(subscriber);
		return r;
	}
	subscriber->number = (unsigned)number;
	subscriber->since_window = first ? tracer_window(engine->tracer) : NOT_YET;
	engine->subscribers[number] = subscriber;
	r = begin_sampling(engine, why, why_bytes);
	if (r < 0) {
		engine_unsubscribe(engine, subscriber);
		return r;
	}
	if (!first)
		drain_soon(engine->drain); /* from there on it counts */
	*ret = subscriber;
	return 0;
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

	engine->subscribers[subscriber->number] = NULL;
	for (int i = 0; i < SUBSCRIBERS_MAX; i++)
		last = last && !engine->subscribers[i];
	if (last && engine->running)
		stop(engine);
	else
		reselect(engine);
	subscriber_free(subscriber); /* after the selection that had its ids */
}

void subscriber_set_thread_frame(struct subscriber *subscriber, bool thread_frame)
{
	subscriber->subscription.thread_frame = thread_frame;
}

int engine_set_snoopers(struct engine *engine, struct snoopers *snoopers)
{
	struct snoopers *before = engine->snoopers;

	if (snoopers == before)
		return 0;
	engine->snoopers = snoopers_ref(snoopers);
	snoopers_unref(before);
	return engine->running ? reselect(engine) : 0;
}

int engine_set_period(struct engine *engine, uint64_t period_ns, char *why, size_t why_bytes)
{
	engine->period_ns = period_ns;
	return engine->running ? tracer_sample(engine->tracer, period_ns, why, why_bytes) : 0;
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

void engine_refresh(struct engine *engine)
{
	tracer_read_life(engine->tracer);
}

void engine_stats(const struct engine *engine, struct engine_stats *stats)
{
	const struct drain_stats *drain = drain_stats(engine->drain);
	struct counters counters;

	*stats = (struct engine_stats){.drain = *drain};
	tracer_counters(engine->tracer, &counters);
	for (int i = 0; i < LOST_COUNT; i++)
		stats->lost[i] = drain->lost[i] + counters.lost[i];
	for (int i = 0; i < PROBE_COUNT; i++)
		stats->thinned[i] = tracer_thinned(engine->tracer, i);
	for (int i = 0; i < PROBE_COUNT; i++)
		stats->samples[i] = counters.samples[i] > drain->unwanted[i]
					    ? counters.samples[i] - drain->unwanted[i]
					    : 0;
	stats->kernel_names_error = symbolizer_kernel_error(engine->symbolizer);
	stats->unnamed_frames = symbolizer_unnamed(engine->symbolizer);
	stats->given_up =
		worker_given_up(engine->setup.urgent) + worker_given_up(engine->setup.foreign);
	stats->bpf_time_ns = tracer_bpf_time_ns(engine->tracer);
	stats->cpus = tracer_cpus(engine->tracer);
	targets_stats(engine->targets, &stats->targets);
	symbol_files_stats(engine->files, &stats->files);
	stats->arming = engine->running && stats->targets.unread > 0;
}

void engine_targets(const struct engine *engine,
		    void (*each)(void *arg, const struct target *target), void *arg)
{
	targets_each(engine->targets, each, arg);
}
