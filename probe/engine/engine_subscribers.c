// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Subscribers come, change what they want and go; the engine samples what all of them want, and
 * nothing else.
 */
#include "engine/engine_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/trim.h"
#include "kind/kind.h"

/* Makes exactly these probes sample; forgets what is held once nobody asks for it. */
static void sample_probes(struct engine *engine, uint32_t probes)
{
	const uint32_t calls = 1u << kind_of_heap();
	bool ran = engine->sampling.running & calls;
	uint64_t now_ns = loop_now_ns();

	probe_switch_set(&engine->sampling, probes);
	if (!ran && engine->sampling.running & calls)
		live_heap_start(engine->live_heap, now_ns);
	else if (ran && !(engine->sampling.running & calls))
		live_heap_stop(engine->live_heap);
}

/* Stops all when the last subscriber has gone: nothing stays attached, nothing wakes us. */
static void stop_engine(struct engine *engine)
{
	targets_kernel_gone(engine->targets);
	agents_stop(engine->agents);
	jfr_stop(engine->jfr);
	sample_probes(engine, 0);
	tracer_stop(engine->tracer);
	drain_stop(engine->drain);
	engine->running = false;
	engine_reselect(engine);
	targets_sweep(engine->targets, UINT64_MAX);
	symbol_files_trim(engine->files, 0);
	trim_memory();
}

static int start_engine(struct engine *engine, struct why *why)
{
	int r = tracer_start(engine->tracer, why);

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
	int r = profile_new(&profile, probe, loop_real_ns(),
			    kind_get(probe)->by_period ? engine->sampling.period_ns : 0);

	if (r < 0)
		return r;
	profile->places = subscriber->subscription.detail.places;
	subscriber->profiles[probe] = profile;
	return 0;
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

/* Returns all probes that subscribers want. */
static uint32_t wanted_probes(const struct engine *engine)
{
	uint32_t probes = 0;

	for (int i = 0; i < SUBSCRIBERS_MAX; i++) {
		if (engine->subscribers[i])
			probes |= engine->subscribers[i]->subscription.probes;
	}
	return probes & WANTED_STACKS;
}

/* Updates targets first, so that the first sample finds them. */
static int begin_sampling(struct engine *engine, struct why *why)
{
	uint32_t probes = wanted_probes(engine);

	probe_switch_prepare(&engine->sampling, probes);
	int r = engine_reselect(engine);
	if (r < 0) {
		why_set(why, "/proc can't be read: %s", strerror(-r));
		return r;
	}
	sample_probes(engine, probes);
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

/*
 * Marks where the subscriber begins. Probes that ran before have stacks in this window that aren't
 * for it.
 */
static void set_since(struct subscriber *subscriber, uint32_t probes, uint32_t ran)
{
	struct engine *engine = subscriber->engine;

	for (int i = 0; i < PROBE_COUNT; i++) {
		if (probes & 1u << i)
			subscriber->since_window[i] =
				ran & 1u << i ? NOT_YET : tracer_window(engine->tracer);
	}
	if (probes & 1u << kind_of_heap())
		engine_unheld(engine, subscriber->unheld);
	if (probes & ran)
		drain_soon(engine->drain); /* its stacks count from the next window on */
}

/* Starts what a subscriber wants of `probes`, without those that can't run. */
static int subscriber_start(struct subscriber *subscriber, uint32_t probes, struct why *why)
{
	struct engine *engine = subscriber->engine;
	uint32_t ran = engine->sampling.running;
	int r = begin_sampling(engine, why);

	if (r < 0)
		return r;
	uint32_t missing = probes & WANTED_STACKS & ~engine->sampling.running;
	set_since(subscriber, probes & ~missing, ran);
	if (!missing)
		return 0;
	drop_profiles(subscriber, missing);
	return engine_reselect(engine);
}

/* Checks whether enough of its probes run; else `why` is that of the first one missing. */
static int check_wish(const struct subscriber *subscriber, const struct subscription *wish,
		      struct why *why)
{
	uint32_t missing = wish->probes & ~subscriber->subscription.probes;

	if (!missing || (!wish->all && subscriber->subscription.probes))
		return 0;
	const struct sampling_failure *failure =
		&subscriber->engine->sampling.failures[__builtin_ctz(missing)];
	*why = failure->why;
	return failure->error ? failure->error : -ENOTSUP;
}

int engine_subscribe(struct engine *engine, const struct subscription *subscription,
		     struct subscriber **ret, struct why *why)
{
	struct subscriber *subscriber = NULL;
	int number = free_number(engine);
	int r = number < 0 ? number : subscriber_new(&subscriber, engine, subscription);

	if (r < 0) {
		why_set(why, "%s", strerror(-r));
		return r;
	}
	if (!engine->running)
		r = start_engine(engine, why);
	if (r < 0) {
		subscriber_free(subscriber);
		return r;
	}
	subscriber->number = (unsigned)number;
	engine->subscribers[number] = subscriber;
	r = subscriber_start(subscriber, subscription->probes, why);
	if (r == 0)
		r = check_wish(subscriber, subscription, why);
	if (r < 0) {
		engine_unsubscribe(engine, subscriber);
		return r;
	}
	*ret = subscriber;
	return 0;
}

void engine_unsubscribe(struct engine *engine, struct subscriber *subscriber)
{
	bool last = true;

	if (engine->java_of == subscriber) {
		engine->java_of = NULL;
		engine_sweep_java(engine);
	}
	engine->subscribers[subscriber->number] = NULL;
	for (int i = 0; i < SUBSCRIBERS_MAX; i++)
		last = last && !engine->subscribers[i];
	if (last && engine->running) {
		stop_engine(engine);
	} else {
		sample_probes(engine, wanted_probes(engine));
		engine_reselect(engine);
	}
	subscriber_free(subscriber); /* after the new selection, as the old one had its ids */
}

int subscriber_add_probes(struct subscriber *subscriber, uint32_t probes)
{
	int r = 0;

	probes &= WANTED_STACKS & ~subscriber->subscription.probes;
	for (int i = 0; r == 0 && i < PROBE_COUNT; i++) {
		if (probes & 1u << i)
			r = new_profile(subscriber, i);
	}
	if (r == 0) {
		subscriber->subscription.probes |= probes;
		r = subscriber_start(subscriber, probes, NULL);
	}
	if (r < 0)
		subscriber_remove_probes(subscriber, probes);
	return r;
}

void subscriber_remove_probes(struct subscriber *subscriber, uint32_t probes)
{
	struct engine *engine = subscriber->engine;

	drop_profiles(subscriber, probes);
	sample_probes(engine, wanted_probes(engine));
	engine_reselect(engine);
}

uint32_t subscriber_probes(const struct subscriber *subscriber)
{
	return subscriber->subscription.probes & WANTED_STACKS;
}

void subscriber_set_detail(struct subscriber *subscriber, const struct stack_detail *detail)
{
	subscriber->subscription.detail = *detail;
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
	profile_set_from(subscriber->profiles[probe], old->until);
	return old;
}

void subscriber_begin(struct subscriber *subscriber)
{
	for (int probe = 0; probe < PROBE_COUNT; probe++) {
		if (subscriber->profiles[probe])
			profile_begin(subscriber->profiles[probe], loop_real_ns());
	}
}
