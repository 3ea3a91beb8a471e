// SPDX-License-Identifier: GPL-2.0-or-later
/* Selections: which processes the subscribers of an engine want, and for what. */
#include "engine/engine_state.h"

#include "base/cleanup.h"

/*
 * Joins the snoopers of the followed features. An unchanged union is kept, for targets judged by
 * it.
 */
static int join_snoopers(struct engine *engine, const bool followed[FEATURES])
{
	static const uint32_t bits[FEATURES] = {WANTED_STACKS, WANTED_SCHED};
	struct snoopers_part parts[FEATURES];
	struct snoopers *joined;
	bool same = engine->joined != NULL;

	for (int i = 0; i < FEATURES; i++) {
		parts[i] =
			(struct snoopers_part){followed[i] ? engine->snoopers[i] : NULL, bits[i]};
		same = same && parts[i].snoopers == engine->joined_of[i];
	}
	if (same)
		return 0;
	int r = snoopers_join(&joined, parts, FEATURES);
	if (r < 0)
		return r;
	snoopers_unref(engine->joined);
	engine->joined = joined;
	for (int i = 0; i < FEATURES; i++) {
		struct snoopers *before = engine->joined_of[i];

		engine->joined_of[i] = parts[i].snoopers ? snoopers_ref(parts[i].snoopers) : NULL;
		snoopers_unref(before);
	}
	return 0;
}

int engine_reselect(struct engine *engine)
{
	struct selection selection = {0};
	bool followed[FEATURES] = {false};

	for (unsigned i = 0; i < SUBSCRIBERS_MAX; i++) {
		const struct subscriber *subscriber = engine->subscribers[i];

		if (!subscriber)
			continue;
		const struct subscription *wish = &subscriber->subscription;
		for (int bit = 0; bit < WANTED_COUNT; bit++)
			selection.wanting[bit] |= wish->probes & 1u << bit ? 1u << i : 0;
		if (wish->chosen.count) {
			selection.chosen[i] = wish->chosen;
		} else {
			selection.followers |= 1u << i;
			followed[wish->feature] = true;
		}
	}
	int r = join_snoopers(engine, followed);
	selection.snoopers = engine->joined;
	if (r == 0)
		r = targets_select(engine->targets, &selection);
	allocators_reselect(engine->allocators);
	event_files_reselect(engine->event_files);
	live_heap_sweep(engine->live_heap);
	return r;
}

int engine_set_snoopers(struct engine *engine, enum engine_feature feature,
			struct snoopers *snoopers)
{
	struct snoopers *before = engine->snoopers[feature];

	if (snoopers == before)
		return 0;
	engine->snoopers[feature] = snoopers ? snoopers_ref(snoopers) : NULL;
	snoopers_unref(before);
	return engine->running ? engine_reselect(engine) : 0;
}

int engine_set_period(struct engine *engine, uint64_t period_ns, struct why *why)
{
	return probe_switch_set_period(&engine->sampling, period_ns, why);
}

int engine_set_values(struct engine *engine, enum probe probe, const union probe_settings *values,
		      struct why *why)
{
	return probe_switch_set_values(&engine->sampling, probe, values, why);
}

void engine_hold(struct engine *engine, uint32_t probes)
{
	probe_switch_hold(&engine->sampling, probes);
}

void engine_set_by_cpu(struct engine *engine, uint32_t probes)
{
	tracer_set_by_cpu(engine->tracer, probes);
}
