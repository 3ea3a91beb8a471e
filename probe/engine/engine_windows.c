// SPDX-License-Identifier: GPL-2.0-or-later
/* Events of the tracer, subscribers' windows, and statistics. */
#include "engine/engine_state.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "bpf/shared/code_copy.h"
#include "engine/times_read.h"
#include "kernel/tracer_waits.h"
#include "kind/kind.h"

void engine_on_life(void *arg, const struct life_event *event)
{
	struct engine *engine = arg;

	live_heap_on_life(engine->live_heap, event);
	targets_on_life(engine->targets, event);
	allocators_refresh(engine->allocators);
	event_files_refresh(engine->event_files);
	if (target_table_is_crowded(targets_table(engine->targets)))
		drain_soon(engine->drain);
}

void engine_on_group(void *arg, const struct group_event *event)
{
	struct engine *engine = arg;

	targets_on_group(engine->targets, event);
}

void engine_on_moved(void *arg, const struct life_event *event)
{
	struct engine *engine = arg;

	targets_on_moved(engine->targets, event);
}

void engine_on_mapped(void *arg, const struct mapped_event *event)
{
	struct engine *engine = arg;

	live_heap_on_mapped(engine->live_heap, event);
}

void engine_on_stack(void *arg, const struct stack *stack, const uint64_t *words)
{
	struct engine *engine = arg;

	if (stack->key.probe != NOTICE_KIND)
		drain_on_stack(engine->drain, stack, words);
	if (!target_table_find(targets_table(engine->targets), stack->key.tgid, stack->target_id))
		/* its fork or exec came after the last reading */
		tracer_read_life(engine->tracer);
	targets_on_stack(engine->targets, stack, words, false);
	code_cache_want_stack(engine->codes, stack, words);
	engine_meet_java(engine, stack);
}

void engine_on_code(void *arg, const struct code_copy *copy, size_t bytes)
{
	struct engine *engine = arg;

	if (!target_table_find(targets_table(engine->targets), copy->tgid, copy->target_id))
		tracer_read_life(engine->tracer);
	code_cache_offer_copy(engine->codes[CODES_PYTHON], copy, bytes);
}

void engine_on_told(void *arg, const struct told_maps *told, size_t bytes)
{
	struct engine *engine = arg;

	if (!target_table_find(targets_table(engine->targets), told->tgid, told->id))
		tracer_read_life(engine->tracer);
	targets_on_told_maps(engine->targets, told, bytes);
}

/* Calls each for the profiles that subscribers collect. */
static void each_collected(const struct engine *engine,
			   void (*each)(void *arg, struct subscriber *subscriber, enum probe probe),
			   void *arg)
{
	for (int i = 0; i < SUBSCRIBERS_MAX; i++) {
		struct subscriber *subscriber = engine->subscribers[i];

		for (int probe = 0; subscriber && probe < PROBE_COUNT; probe++) {
			if (subscriber->profiles[probe])
				each(arg, subscriber, probe);
		}
	}
}

static void begin_window(void *arg, struct subscriber *subscriber, enum probe probe)
{
	if (subscriber->since_window[probe] == NOT_YET)
		subscriber->since_window[probe] = *(uint64_t *)arg;
}

/* Reads processes' CPU times, unless they were read just before. */
static void read_times(struct engine *engine)
{
	int r = times_read(engine->times, engine->tracer, engine->targets);

	if (r < 0)
		log_error("processes' run time can't be read: %s", strerror(-r));
}

void engine_window_began(void *arg, uint64_t window)
{
	read_times(arg); /* before ended processes are forgotten */
	each_collected(arg, begin_window, &window);
}

uint32_t engine_wanting(void *arg, uint64_t window, enum probe probe)
{
	const struct engine *engine = arg;
	uint32_t bits = 0;

	for (unsigned i = 0; i < SUBSCRIBERS_MAX; i++) {
		const struct subscriber *subscriber = engine->subscribers[i];

		if (subscriber && subscriber->profiles[probe] &&
		    subscriber->since_window[probe] <= window)
			bits |= 1u << i;
	}
	return bits;
}

uint64_t engine_stats_lost(const struct engine_stats *stats, enum probe probe, enum loss where)
{
	return stats->lost[probe][where] + stats->lost[LOSERS_ALL][where];
}

/* Losses that leave the samples of a window whole: those of events, and of other views. */
static const uint32_t not_samples = 1U << LOST_LIFE_FULL | 1U << LOST_TARGETS_FULL |
				    1U << LOST_GONE_FULL | 1U << LOST_HELD_FULL |
				    1U << LOST_MAPPED_FULL;

/* Returns the samples of a probe lost since the start. */
static uint64_t lost_samples(const struct engine_stats *stats, enum probe probe)
{
	uint64_t sum = 0;

	for (int i = 0; i < LOST_COUNT; i++) {
		if (!(not_samples >> i & 1))
			sum += engine_stats_lost(stats, probe, i);
	}
	return sum;
}

struct sinking {
	struct batch *batch;
	uint64_t window, lost[PROBE_COUNT], left_out[PROBE_COUNT];
};

static void add_sink(void *arg, struct subscriber *subscriber, enum probe probe)
{
	const struct sinking *sinking = arg;
	struct sink sink = {
		.bit = 1u << subscriber->number,
		.detail = subscriber->subscription.detail,
		.lost = sinking->lost[probe],
		.left_out = sinking->left_out[probe],
	};

	if (subscriber->since_window[probe] > sinking->window)
		return;
	sink.profile = profile_ref(subscriber->profiles[probe]);
	if (batch_add_sink(sinking->batch, &sink) < 0)
		log_error("no memory for a window's profile");
}

/* Counts losses that leave what is held incomplete. */
static void tell_of_unheld(struct engine *engine, const struct engine_stats *stats)
{
	uint64_t lost = stats->lost[kind_of_heap()][LOST_HELD_FULL];

	if (lost == engine->unheld_before)
		return;
	log_warn("%s: %llu allocations found no room among the %u that are held, and are "
		 "missing in view=inuse; raise bpf.allocations, or mem_sample_bytes",
		 kind_get(kind_of_heap())->name, (unsigned long long)(lost - engine->unheld_before),
		 tracer_held_max(engine->tracer));
	engine->unheld_before = lost;
}

void engine_add_sinks(void *arg, struct batch *batch, uint64_t window)
{
	struct engine *engine = arg;
	struct sinking sinking = {.batch = batch, .window = window};
	struct engine_stats stats;

	engine_stats(engine, &stats);
	tell_of_unheld(engine, &stats);
	for (int probe = 0; probe < PROBE_COUNT; probe++) {
		uint64_t lost = lost_samples(&stats, probe);

		sinking.lost[probe] = lost - engine->lost_before[probe];
		engine->lost_before[probe] = lost;
		sinking.left_out[probe] = stats.left_out[probe] - engine->left_out_before[probe];
		engine->left_out_before[probe] = stats.left_out[probe];
	}
	each_collected(engine, add_sink, &sinking);
	engine_add_recorded(engine, batch);
}

static void see_not_yet(void *arg, struct subscriber *subscriber, enum probe probe)
{
	bool *any = arg;

	*any |= subscriber->since_window[probe] == NOT_YET;
}

/*
 * Returns whether one more drain is wanted: a subscriber that came during a drain gets a window of
 * its own.
 */
bool engine_drain_ended(void *arg)
{
	struct engine *engine = arg;
	bool any = false;

	live_heap_window_ended(engine->live_heap);
	engine_sweep_java(engine);
	each_collected(engine, see_not_yet, &any);
	return any;
}

void engine_refresh(struct engine *engine)
{
	tracer_read_life(engine->tracer);
}

static void count_jobs(const struct engine_setup *setup, struct engine_stats *stats)
{
	const struct worker *const workers[] = {setup->urgent, setup->foreign, setup->lines,
						setup->names};

	for (size_t i = 0; i < ARRAY_SIZE(workers); i++) {
		stats->given_up += worker_given_up(workers[i]);
		stats->refused_jobs += worker_refused(workers[i]);
	}
}

void engine_stats(const struct engine *engine, struct engine_stats *stats)
{
	const struct drain_stats *drain = drain_stats(engine->drain);
	struct counters counters;

	*stats = (struct engine_stats){.drain = *drain};
	tracer_counters(engine->tracer, &counters);
	for (int of = 0; of < LOSERS_COUNT; of++) {
		for (int i = 0; i < LOST_COUNT; i++)
			stats->lost[of][i] = drain->lost[of][i] + counters.lost[of][i];
	}
	for (int i = 0; i < PROBE_COUNT; i++) {
		if (kind_get(i)->count)
			kind_get(i)->count(engine->tracer, &counters, &stats->own[i]);
	}
	for (int i = 0; i < PROBE_COUNT; i++) {
		stats->thinned[i] = tracer_thinned(engine->tracer, i);
		stats->left_out[i] = counters.left_out[i];
	}
	for (int i = 0; i < PROBE_COUNT; i++)
		stats->samples[i] = counters.samples[i] > drain->unwanted[i]
					    ? counters.samples[i] - drain->unwanted[i]
					    : 0;
	stats->kernel_names_error = symbolizer_kernel_error(engine->symbolizer);
	stats->unnamed_frames = symbolizer_unnamed(engine->symbolizer);
	count_jobs(&engine->setup, stats);
	stats->loop = *loop_stalls(engine->setup.loop);
	tracer_looks(engine->tracer, &stats->looks);
	stats->bpf_time_ns = tracer_bpf_time_ns(engine->tracer);
	stats->cpus = tracer_cpus(engine->tracer);
	targets_stats(engine->targets, &stats->targets);
	containers_stats(engine->containers, &stats->containers);
	symbol_files_stats(engine->files, &stats->files);
	for (int i = 0; i < CODES_KINDS; i++)
		code_cache_stats(engine->codes[i], &stats->codes[i]);
	stats->times = *times_stats(engine->times);
	tracer_times_state(engine->tracer, &stats->times_state);
	live_heap_stats(engine->live_heap, &stats->live_heap);
	allocators_stats(engine->allocators, &stats->allocators);
	stats->arming = engine->running && stats->targets.unread > 0;
}

void engine_unheld(const struct engine *engine, uint64_t unheld[VIEWS])
{
	struct counters counters;

	tracer_counters(engine->tracer, &counters);
	memset(unheld, 0, VIEWS * sizeof(*unheld));
	unheld[VIEW_INUSE] = counters.lost[kind_of_heap()][LOST_HELD_FULL];
	unheld[VIEW_MMAP] = counters.lost[kind_of_heap()][LOST_MAPPED_FULL];
}

#define ENDED_KEPT_NS (10 * NS_PER_S)

void engine_keep_ended(struct engine *engine)
{
	live_heap_keep_ended(engine->live_heap);
	drain_keep_ended(engine->drain, ENDED_KEPT_NS);
}

int engine_read_held(struct engine *engine, const struct subscriber *subscriber,
		     const struct live_heap_request *request)
{
	struct live_heap_request asked = *request;
	int64_t since = live_heap_since(engine->live_heap);

	if (!subscriber->profiles[kind_of_heap()])
		return -ENOENT;
	asked.subscribers = 1u << subscriber->number;
	asked.detail = subscriber->subscription.detail;
	asked.named_ns = drain_ended_ns(engine->drain);
	if (asked.from < since)
		asked.from = since;
	asked.until = drain_time(engine->drain);
	engine_unheld(engine, asked.lost);
	for (int view = 0; view < VIEWS; view++)
		asked.lost[view] -= subscriber->unheld[view];
	return live_heap_read(engine->live_heap, &asked);
}

void engine_times(struct engine *engine,
		  void (*each)(void *arg, const struct process_times *process), void *arg)
{
	read_times(engine);
	times_each(engine->times, each, arg);
}
