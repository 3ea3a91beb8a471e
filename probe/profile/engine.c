// SPDX-License-Identifier: GPL-2.0-only
#include "profile/engine.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "profile/batch.h"
#include "profile/kind.h"
#include "profile/window.h"

#define WINDOW_NS	  (30 * NS_PER_S)
#define WINDOW_BYTES_MAX  (64u * 1024 * 1024)
#define DEFAULT_PERIOD_NS (10 * NS_PER_MS)
#define IDLE_FILES_KEPT	  256
#define NOT_YET		  UINT64_MAX

struct subscriber {
	struct engine *engine;
	struct subscription subscription;
	unsigned number;       /* its bit */
	uint64_t since_window; /* its first; NOT_YET: the next one */
	struct profile *profiles[PROBE_COUNT];
};

struct waiter {
	struct waiter *next;
	struct loop_call call;
	void (*done)(void *arg);
	void *arg;
};

struct counted {
	struct stack_key key;
	struct stack_count count;
};

struct engine {
	struct engine_setup setup;
	struct tracer *tracer;
	struct symbol_files *files;
	struct symbolizer *symbolizer;
	struct targets *targets;
	struct window *window;
	struct snoopers *snoopers;
	uint64_t period_ns;
	struct subscriber *subscribers[SUBSCRIBERS_MAX];
	bool running;

	struct loop_timer timer; /* the next window's end */
	bool draining;
	struct waiter *waiting, *serving; /* for the next drain, for the one that goes on */
	struct buf counted;		  /* struct counted, of the window that is being read */
	uint64_t ended_window, swapped_ns;
	time_t drained_at;
	uint64_t lost_before;		/* samples lost until the last drain */
	uint64_t unwanted[PROBE_COUNT]; /* samples of processes that did not match after all */
	struct engine_stats stats;
};

static void start_drain(struct engine *engine);

static void on_life(void *arg, const struct life_event *event)
{
	struct engine *engine = arg;

	targets_on_life(engine->targets, event);
}

static void on_stack(void *arg, const struct stack *stack, const uint64_t *words)
{
	struct engine *engine = arg;

	if (window_add(engine->window, stack, words) < 0)
		return; /* its counts will be "stack_missing" */
	if (!targets_find(engine->targets, stack->key.tgid, stack->target_id))
		tracer_read_life(engine->tracer); /* its fork or exec came after the last look */
	targets_on_stack(engine->targets, stack, words, false);
	if (window_count(engine->window, tracer_window(engine->tracer)) >
		    engine->setup.sizes.stacks / 4 * 3 &&
	    !engine->draining)
		start_drain(engine);
}

static void on_timer(void *arg)
{
	struct engine *engine = arg;

	if (!engine->draining)
		start_drain(engine);
}

static int engine_init(struct engine *engine)
{
	struct tracer_events events = {.stack = on_stack, .life = on_life, .arg = engine};
	const struct tracer_sizes *sizes = &engine->setup.sizes;
	int r = tracer_new(&engine->tracer, engine->setup.loop, sizes, &events);

	if (r == 0)
		r = symbolizer_new(&engine->symbolizer);
	if (r == 0)
		r = symbol_files_new(&engine->files, engine->setup.bulk);
	if (r == 0)
		r = targets_new(&engine->targets, engine->tracer, engine->files,
				engine->setup.urgent, sizes->targets);
	if (r == 0)
		r = window_new(&engine->window, sizes->stacks * 2, WINDOW_BYTES_MAX);
	return r;
}

int engine_new(struct engine **ret, const struct engine_setup *setup)
{
	struct engine *engine = calloc(1, sizeof(*engine));

	if (!engine)
		return -ENOMEM;
	engine->setup = *setup;
	engine->period_ns = DEFAULT_PERIOD_NS;
	engine->timer = (struct loop_timer){.expired = on_timer, .arg = engine};
	engine->counted = (struct buf)BUF_INIT(sizeof(struct counted) * setup->sizes.stacks);
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
	loop_timer_cancel(engine->setup.loop, &engine->timer);
	for (int i = 0; i < SUBSCRIBERS_MAX; i++) {
		if (engine->subscribers[i])
			engine_unsubscribe(engine, engine->subscribers[i]);
	}
	window_free(engine->window);
	targets_free(engine->targets);
	tracer_free(engine->tracer);
	symbol_files_free(engine->files);
	symbolizer_free(engine->symbolizer);
	snoopers_unref(engine->snoopers);
	buf_done(&engine->counted);
	free(engine);
}

static int reselect(struct engine *engine)
{
	struct selection selection = {.snoopers = engine->snoopers};

	for (unsigned i = 0; i < SUBSCRIBERS_MAX; i++) {
		const struct subscriber *subscriber = engine->subscribers[i];

		if (!subscriber)
			continue;
		if (subscriber->subscription.pid) {
			selection.single[i].pid = subscriber->subscription.pid;
			selection.single[i].start_ticks = subscriber->subscription.start_ticks;
		} else {
			selection.followers |= 1u << i;
		}
	}
	return targets_select(engine->targets, &selection);
}

/* The last subscriber has gone: nothing stays attached, nothing wakes us. */
static void stop(struct engine *engine)
{
	loop_timer_cancel(engine->setup.loop, &engine->timer);
	tracer_stop(engine->tracer);
	engine->running = false;
	window_clear(engine->window, 0);
	window_clear(engine->window, 1);
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
	engine->drained_at = time(NULL);
	loop_timer_set(engine->setup.loop, &engine->timer, loop_now_ns() + WINDOW_NS);
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
	free(subscriber);
}

static int subscriber_new(struct subscriber **ret, struct engine *engine,
			  const struct subscription *subscription)
{
	struct subscriber *subscriber = calloc(1, sizeof(*subscriber));
	int r = subscriber ? 0 : -ENOMEM;

	if (r < 0)
		return r;
	subscriber->engine = engine;
	subscriber->subscription = *subscription;
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

int engine_subscribe(struct engine *engine, const struct subscription *subscription,
		     struct subscriber **ret, char *why, size_t why_bytes)
{
	struct subscriber *subscriber;
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
	/* Targets first, so that the first sample finds them. */
	r = reselect(engine);
	if (r < 0)
		snprintf(why, why_bytes, "/proc can't be read: %s", strerror(-r));
	else
		r = tracer_sample(engine->tracer, engine->period_ns, why, why_bytes);
	if (r < 0) {
		engine_unsubscribe(engine, subscriber);
		return r;
	}
	if (!first && !engine->draining)
		start_drain(engine);
	*ret = subscriber;
	return 0;
}

void engine_unsubscribe(struct engine *engine, struct subscriber *subscriber)
{
	bool last = true;

	engine->subscribers[subscriber->number] = NULL;
	subscriber_free(subscriber);
	for (int i = 0; i < SUBSCRIBERS_MAX; i++)
		last = last && !engine->subscribers[i];
	if (last && engine->running)
		stop(engine);
	else
		reselect(engine);
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

struct profile *subscriber_profile(const struct subscriber *subscriber, enum probe probe)
{
	return subscriber->profiles[probe];
}

struct profile *subscriber_take_profile(struct subscriber *subscriber, enum probe probe)
{
	struct profile *old = subscriber->profiles[probe];

	if (new_profile(subscriber, probe) < 0)
		return NULL;
	subscriber->profiles[probe]->from = subscriber->engine->drained_at;
	subscriber->profiles[probe]->until = subscriber->engine->drained_at;
	return old;
}

/* ---- one drain, step by step ---- */

static void tell(void *arg)
{
	struct waiter *waiter = arg;

	waiter->done(waiter->arg);
	free(waiter);
}

void engine_drain(struct engine *engine, void (*done)(void *arg), void *arg)
{
	struct waiter *waiter = calloc(1, sizeof(*waiter)), **at = &engine->waiting;

	if (!waiter) {
		done(arg);
		return;
	}
	waiter->done = done;
	waiter->arg = arg;
	waiter->call = (struct loop_call){.run = tell, .arg = waiter};
	while (*at)
		at = &(*at)->next;
	*at = waiter;
	if (!engine->draining)
		start_drain(engine);
}

static void end_drain(struct engine *engine)
{
	window_clear(engine->window, engine->ended_window);
	if (engine->running) {
		targets_sweep(engine->targets, engine->swapped_ns);
		symbol_files_trim(engine->files, IDLE_FILES_KEPT);
	}
	malloc_trim(0);
	engine->draining = false;
	for (struct waiter *waiter = TAKE_PTR(engine->serving); waiter;) {
		struct waiter *next = waiter->next;

		loop_post(engine->setup.loop, &waiter->call);
		waiter = next;
	}
	if (engine->waiting)
		start_drain(engine);
}

struct naming {
	struct job job;
	struct engine *engine;
	struct batch *batch;
	time_t until;
	struct batch_result result;
};

static void naming_run(struct job *job)
{
	struct naming *naming = (struct naming *)job;

	batch_name(naming->batch, naming->engine->symbolizer, naming->until, &naming->result);
}

static void naming_done(struct job *job, bool finished)
{
	struct naming *naming = (struct naming *)job;
	struct engine *engine = naming->engine;

	(void)finished; /* it is never given up */
	for (int i = 0; i < TRUNCATED_COUNT; i++)
		engine->stats.truncated[i] += naming->result.truncated[i];
	engine->stats.refused += naming->result.refused;
	end_drain(engine);
}

static void naming_free(struct job *job)
{
	struct naming *naming = (struct naming *)job;

	batch_free(naming->batch);
	free(naming);
}

/* The files are read: the batch can be named. */
static void name_batch(void *arg)
{
	struct naming *naming = arg;

	worker_submit(naming->engine->setup.bulk, &naming->job);
}

static uint32_t active_bits(const struct engine *engine)
{
	uint32_t bits = 0;

	for (unsigned i = 0; i < SUBSCRIBERS_MAX; i++) {
		const struct subscriber *subscriber = engine->subscribers[i];

		if (subscriber && subscriber->since_window <= engine->ended_window)
			bits |= 1u << i;
	}
	return bits;
}

static void join(struct engine *engine, struct batch *batch)
{
	const struct counted *counted = (const struct counted *)(void *)engine->counted.data;
	size_t count = engine->counted.len / sizeof(*counted);
	uint32_t active = active_bits(engine);

	for (size_t i = 0; active && i < count; i++) {
		const struct stack_key *key = &counted[i].key;
		uint64_t weight = counted[i].count.weight;
		const struct stack *stack = window_find(engine->window, engine->ended_window, key);
		const struct target *target =
			stack ? targets_find(engine->targets, key->tgid, stack->target_id) : NULL;

		if (!stack) {
			engine->stats.lost[LOST_STACK_MISSING] += weight;
		} else if (!target) {
			engine->stats.lost[LOST_PROCESS_UNKNOWN] += weight;
		} else {
			uint32_t bits =
				active & targets_subscribers(engine->targets, target, key->probe);

			if (key->probe >= PROBE_COUNT)
				continue;
			if (!bits) {
				engine->unwanted[key->probe] += weight;
				continue;
			}
			if (batch_add(batch, stack, (const uint64_t *)(stack + 1), target, bits,
				      weight, engine->files) < 0)
				engine->stats.lost[LOST_READ_FAILED] += weight;
		}
	}
	engine->stats.windows++;
	engine->stats.window_stacks = count;
	engine->counted.len = 0;
	engine->counted.error = 0;
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

static void add_sinks(struct engine *engine, struct batch *batch)
{
	uint64_t lost = lost_samples(engine), newly = lost - engine->lost_before;

	engine->lost_before = lost;
	for (unsigned i = 0; i < SUBSCRIBERS_MAX; i++) {
		const struct subscriber *subscriber = engine->subscribers[i];

		if (!subscriber || subscriber->since_window > engine->ended_window)
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

/* All processes are known that could be: stacks and counts come together. */
static void join_window(void *arg)
{
	struct engine *engine = arg;
	struct naming *naming = calloc(1, sizeof(*naming));

	if (!naming || batch_new(&naming->batch) < 0) {
		log_error("no memory to read a window; its %zu stacks are lost",
			  engine->counted.len / sizeof(struct counted));
		engine->stats.lost[LOST_READ_FAILED] +=
			engine->counted.len / sizeof(struct counted);
		engine->counted.len = 0;
		free(naming);
		end_drain(engine);
		return;
	}
	naming->job = (struct job){
		.run = naming_run, .done = naming_done, .free = naming_free, .unlimited = true};
	naming->engine = engine;
	naming->until = engine->drained_at;
	join(engine, naming->batch);
	add_sinks(engine, naming->batch);
	if (worker_fence(engine->setup.bulk, name_batch, naming) < 0)
		name_batch(naming); /* some files may lack their names */
}

static void keep_count(void *arg, const struct stack_key *key, const struct stack_count *count)
{
	struct engine *engine = arg;
	struct counted counted = {*key, *count};

	buf_add(&engine->counted, &counted, sizeof(counted));
	if (buf_error(&engine->counted))
		engine->stats.lost[LOST_READ_FAILED] += count->weight;
}

static void look_again(void *arg, const struct stack *stack, const uint64_t *words)
{
	struct engine *engine = arg;

	targets_on_stack(engine->targets, stack, words, true);
}

static void start_drain(struct engine *engine)
{
	engine->draining = true;
	engine->serving = TAKE_PTR(engine->waiting);
	engine->ended_window = tracer_window(engine->tracer);
	int r = tracer_swap(engine->tracer, keep_count, engine);
	if (r < 0)
		log_error("a window's counts can't be read and are lost: %s", strerror(-r));
	engine->swapped_ns = loop_now_ns();
	engine->drained_at = time(NULL);
	for (int i = 0; i < SUBSCRIBERS_MAX; i++) {
		struct subscriber *subscriber = engine->subscribers[i];

		if (subscriber && subscriber->since_window == NOT_YET)
			subscriber->since_window = tracer_window(engine->tracer);
	}
	if (engine->running)
		loop_timer_set(engine->setup.loop, &engine->timer, engine->swapped_ns + WINDOW_NS);
	window_each(engine->window, engine->ended_window, look_again, engine);
	if (worker_fence(engine->setup.urgent, join_window, engine) < 0)
		join_window(engine);
}

/* ---- what is known ---- */

void engine_refresh(struct engine *engine)
{
	tracer_read_life(engine->tracer);
}

void engine_stats(const struct engine *engine, struct engine_stats *stats)
{
	struct counters counters;

	*stats = engine->stats;
	tracer_counters(engine->tracer, &counters);
	for (int i = 0; i < LOST_COUNT; i++)
		stats->lost[i] += counters.lost[i];
	for (int i = 0; i < PROBE_COUNT; i++)
		stats->samples[i] = counters.samples[i] > engine->unwanted[i]
					    ? counters.samples[i] - engine->unwanted[i]
					    : 0;
	stats->unnamed_frames = symbolizer_unnamed(engine->symbolizer);
	stats->given_up =
		worker_given_up(engine->setup.urgent) + worker_given_up(engine->setup.bulk);
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
