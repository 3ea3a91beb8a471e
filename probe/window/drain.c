// SPDX-License-Identifier: GPL-2.0-or-later
#include "window/drain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/trim.h"
#include "kind/kind.h"
#include "code/java_agent_frames.h"
#include "kernel/blocked_walk.h"
#include "window/window.h"

#define WINDOW_NS	 (30 * NS_PER_S)
#define WINDOW_BYTES_MAX (64u * 1024 * 1024)
#define IDLE_FILES_KEPT	 256
/*
 * Times from a window's end, after which names wait no longer for other users' processes to be
 * inspected and their files to be read. A request may have to wait for two windows of others and
 * then for its own: others' are shorter when somebody waits for their end.
 */
#define LOOKS_NS       (300 * NS_PER_MS)
#define NAMES_NS       (1000 * NS_PER_MS)
#define NAMES_BRIEF_NS (500 * NS_PER_MS)
#define NAMES_MIN_NS                                                                               \
	(300 * NS_PER_MS) /* of this for files, however long VMs have taken to tell                \
			   */

struct waiter {
	struct waiter *next;
	struct loop_call call;
	void (*done)(void *arg);
	void *arg;
};

struct drain {
	struct drain_setup setup;
	struct window *window;
	struct loop_timer timer; /* the next window's end */
	struct loop_call early;
	bool early_posted;
	bool started, busy, due;	  /* due: the next window's end came while busy */
	struct waiter *waiting, *serving; /* for the next drain; for the current one */
	struct buf counted;		  /* struct counted of the window that is being read */
	struct naming_job *naming;	  /* the batch that waits for functions to be read */
	uint64_t ended_window, swapped_ns;
	uint64_t looks_ns, reads_ns; /* when inspections and reading files began */
	int64_t time;		     /* of the last window's end, loop_real_ns() */
	struct drain_stats stats;
};

/* A window's batch on its way to names. */
struct naming_job {
	struct job job;
	struct drain *drain;
	struct batch *batch;
	int64_t until;
	struct batch_result result;
};

static void naming_free(struct job *job)
{
	struct naming_job *naming = (struct naming_job *)job;

	batch_free(naming->batch);
	free(naming);
}

static void begin_drain(struct drain *drain);

static void on_timer(void *arg)
{
	struct drain *drain = arg;

	drain->due = drain->busy; /* a drain may take long: VMs, files that hang */
	if (!drain->busy)
		begin_drain(drain);
}

static void on_early(void *arg)
{
	struct drain *drain = arg;

	drain->early_posted = false;
	if (drain->started && !drain->busy)
		begin_drain(drain);
}

int drain_new(struct drain **ret, const struct drain_setup *setup)
{
	struct drain *drain = calloc(1, sizeof(*drain));

	if (!drain)
		return -ENOMEM;
	drain->setup = *setup;
	drain->timer = (struct loop_timer){.expired = on_timer, .arg = drain, .name = "drain"};
	drain->early = (struct loop_call){.run = on_early, .arg = drain, .name = "drain"};
	drain->counted = (struct buf)BUF_INIT(sizeof(struct counted) * setup->stacks_max);
	int r = window_new(&drain->window, (size_t)setup->stacks_max * 2, WINDOW_BYTES_MAX);
	if (r < 0) {
		drain_free(drain);
		return r;
	}
	*ret = drain;
	return 0;
}

static void free_waiters(struct waiter *waiter)
{
	while (waiter) {
		struct waiter *next = waiter->next;

		free(waiter);
		waiter = next;
	}
}

void drain_free(struct drain *drain)
{
	if (!drain)
		return;
	loop_timer_cancel(drain->setup.loop, &drain->timer);
	if (drain->naming)
		naming_free(&drain->naming->job);
	free_waiters(drain->waiting);
	free_waiters(drain->serving);
	window_free(drain->window);
	buf_done(&drain->counted);
	free(drain);
}

void drain_start(struct drain *drain)
{
	drain->started = true;
	drain->time = loop_real_ns();
	loop_timer_set(drain->setup.loop, &drain->timer, loop_now_ns() + WINDOW_NS);
}

void drain_stop(struct drain *drain)
{
	drain->started = false;
	loop_timer_cancel(drain->setup.loop, &drain->timer);
	drain->counted.len = 0;
	window_clear(drain->window, 0);
	window_clear(drain->window, 1);
}

void drain_soon(struct drain *drain)
{
	if (drain->early_posted || drain->busy)
		return;
	drain->early_posted = true;
	loop_post(drain->setup.loop, &drain->early);
}

void drain_on_stack(struct drain *drain, const struct stack *stack, const uint64_t *words)
{
	uint64_t window = tracer_window(drain->setup.tracer);

	/* A stack without room is counted when its counts come: "stack_missing". */
	window_add(drain->window, stack, words);
	if (window_count(drain->window, window) > drain->setup.stacks_max / 4 * 3 ||
	    window_bytes(drain->window, window) > WINDOW_BYTES_MAX / 2)
		drain_soon(drain);
}

int64_t drain_time(const struct drain *drain)
{
	return drain->time;
}

uint64_t drain_ended_ns(const struct drain *drain)
{
	return drain->swapped_ns;
}

const struct drain_stats *drain_stats(const struct drain *drain)
{
	return &drain->stats;
}

static void tell_waiter(void *arg)
{
	struct waiter *waiter = arg;

	waiter->done(waiter->arg);
	free(waiter);
}

void drain_request(struct drain *drain, void (*done)(void *arg), void *arg)
{
	struct waiter *waiter = done ? calloc(1, sizeof(*waiter)) : NULL, **at = &drain->waiting;

	if (done && !waiter) {
		done(arg);
		return;
	}
	if (waiter) {
		*waiter = (struct waiter){
			.call = {.run = tell_waiter, .arg = waiter, .name = "drain"},
			.done = done,
			.arg = arg};
		while (*at)
			at = &(*at)->next;
		*at = waiter;
	}
	if (!drain->busy)
		begin_drain(drain);
}

static void end_drain(struct drain *drain)
{
	window_clear(drain->window, drain->ended_window);
	for (int i = 0; i < CODES_KINDS; i++)
		code_cache_sweep(drain->setup.codes[i]);
	if (drain->started) {
		targets_sweep(drain->setup.targets, drain->swapped_ns);
		symbol_files_trim(drain->setup.files, IDLE_FILES_KEPT);
	}
	trim_memory();
	drain->busy = false;
	for (struct waiter *waiter = TAKE_PTR(drain->serving); waiter;) {
		struct waiter *next = waiter->next;

		loop_post(drain->setup.loop, &waiter->call);
		waiter = next;
	}
	bool due = drain->due && drain->started;

	drain->due = false;
	if (drain->setup.ended(drain->setup.arg) || drain->waiting || due)
		begin_drain(drain);
}

/* Returns whether the time is over. If one user has all targets, they wait for no other one's. */
static bool has_waited(const struct drain *drain, uint64_t until_ns)
{
	return loop_now_ns() >= until_ns && targets_have_users(drain->setup.targets);
}

static bool has_looked_enough(void *arg)
{
	const struct drain *drain = arg;

	return has_waited(drain, drain->looks_ns + LOOKS_NS);
}

static bool has_read_enough(void *arg)
{
	const struct drain *drain = arg;
	uint64_t until_ns = drain->swapped_ns + (drain->waiting ? NAMES_BRIEF_NS : NAMES_NS);
	uint64_t least_ns = drain->reads_ns + NAMES_MIN_NS;

	return has_waited(drain, until_ns > least_ns ? until_ns : least_ns);
}

static void naming_run(struct job *job)
{
	struct naming_job *naming = (struct naming_job *)job;

	const struct drain_setup *setup = &naming->drain->setup;

	batch_name(naming->batch, setup->symbolizer, setup->stack_cache, naming->until,
		   &naming->result);
}

static void lose_events(struct drain *drain, uint32_t of, enum loss where, uint64_t events)
{
	drain->stats.lost[of < PROBE_COUNT ? of : LOSERS_ALL][where] += events;
}

static void lose_batch(struct drain *drain, const struct batch *batch)
{
	uint64_t events[PROBE_COUNT] = {0};

	batch_events(batch, events);
	for (uint32_t probe = 0; probe < PROBE_COUNT; probe++)
		lose_events(drain, probe, LOST_READ_FAILED, events[probe]);
}

static void naming_done(struct job *job, bool finished)
{
	struct naming_job *naming = (struct naming_job *)job;
	struct drain *drain = naming->drain;

	if (!finished) /* no thread could be started */
		lose_batch(drain, naming->batch);
	for (int probe = 0; probe < PROBE_COUNT; probe++) {
		for (int i = 0; i < TRUNCATED_COUNT; i++)
			drain->stats.truncated[probe][i] += naming->result.truncated[probe][i];
	}
	drain->stats.refused += naming->result.refused;
	drain->stats.unrecorded += naming->result.unrecorded;
	drain->stats.inline_unknown += naming->result.inline_unknown;
	drain->stats.untold += naming->result.untold;
	end_drain(drain);
}

/* Submits the naming of the batch, when the files are read. */
static void name_batch(void *arg)
{
	struct drain *drain = arg;

	worker_submit(drain->setup.bulk, &TAKE_PTR(drain->naming)->job);
}

/* Joins a count with its stack. `wanting`: by probe. */
static void join_one(struct drain *drain, struct batch *batch, const struct counted *counted,
		     const uint32_t *wanting)
{
	const struct target_table *table = targets_table(drain->setup.targets);
	const struct stack_key *key = &counted->key.stack;
	uint64_t events = counted->count.events;
	const struct stack *stack = window_find(drain->window, drain->ended_window, key);
	struct target *target =
		stack ? target_table_find(table, key->tgid, stack->target_id) : NULL;
	enum truncation truncated = TRUNCATED_NOT;

	if (key->probe >= PROBE_COUNT || !stack) {
		lose_events(drain, key->probe, LOST_STACK_MISSING, events);
		return;
	}
	if (!target && target_table_was_rejected(table, key->tgid, stack->target_id)) {
		drain->stats.unwanted[key->probe] += counted->count.samples;
		return;
	}
	if (!target) {
		lose_events(drain, key->probe, LOST_PROCESS_UNKNOWN, events);
		return;
	}
	uint32_t bits =
		wanting[key->probe] & targets_subscribers(drain->setup.targets, target, key->probe);
	/* A thread that is still blocked there is counted in the next window as well. */
	if (counted->count.waiting &&
	    window_carry(drain->window, stack, drain->ended_window + 1) < 0)
		lose_events(drain, key->probe, LOST_STACK_MISSING, counted->count.waiting);
	if (!counted->count.weight)
		return;
	if (!bits && target->match.unnamed) {
		lose_events(drain, key->probe, LOST_CONTAINER_UNKNOWN, events);
		return;
	}
	if (!bits)
		drain->stats.unwanted[key->probe] += counted->count.samples;
	bits &= ~drain->setup.told_by_others(drain->setup.arg, target, key->probe);
	/* A subscriber that began in the middle of the window may ask what is held of it. */
	if (!bits && !kind_get(key->probe)->holds)
		return;
	if (batch_add(batch, stack, (const uint64_t *)(stack + 1), target, bits, counted,
		      drain->setup.files, &truncated) < 0)
		lose_events(drain, key->probe, LOST_READ_FAILED, events);
	else if (bits)
		target->truncated[truncated] += events;
}

static size_t counted_count(const struct drain *drain, const struct counted **counted)
{
	*counted = (const struct counted *)(void *)drain->counted.data;
	return drain->counted.len / sizeof(**counted);
}

static void join_stacks(struct drain *drain, struct batch *batch)
{
	const struct counted *counted;
	size_t count = counted_count(drain, &counted);
	uint32_t wanting[PROBE_COUNT];

	for (int probe = 0; probe < PROBE_COUNT; probe++)
		wanting[probe] = drain->setup.wanting(drain->setup.arg, drain->ended_window, probe);
	for (size_t i = 0; i < count; i++)
		join_one(drain, batch, &counted[i], wanting);
	drain->stats.windows++;
	drain->stats.window_stacks = count;
}

static void lose_counted(struct drain *drain)
{
	const struct counted *counted;
	size_t count = counted_count(drain, &counted);

	log_error("no memory to read a window: its samples are lost");
	for (size_t i = 0; i < count; i++)
		lose_events(drain, counted[i].key.stack.probe, LOST_READ_FAILED,
			    counted[i].count.events);
}

/* Joins stacks and counts, when all processes are known that could be. */
static void join_window(void *arg)
{
	struct drain *drain = arg;
	struct naming_job *naming = calloc(1, sizeof(*naming));

	if (!naming || batch_new(&naming->batch) < 0) {
		lose_counted(drain);
		drain->counted.len = 0;
		free(naming);
		end_drain(drain);
		return;
	}
	naming->job = (struct job){
		.run = naming_run, .done = naming_done, .free = naming_free, .unlimited = true};
	naming->drain = drain;
	naming->until = drain->time;
	batch_set_end(naming->batch, drain->swapped_ns);
	symbol_files_begin(drain->setup.files);
	join_stacks(drain, naming->batch);
	drain->counted.len = 0;
	drain->counted.error = 0;
	drain->setup.add_sinks(drain->setup.arg, naming->batch, drain->ended_window);
	drain->naming = naming;
	drain->reads_ns = loop_now_ns();
	symbol_files_read(drain->setup.files, has_read_enough, name_batch, drain);
}

static void want_told(void *arg, const struct stack *stack, const uint64_t *words)
{
	const struct drain *drain = arg;

	agent_frames_want(drain->setup.codes[CODES_JAVA], targets_table(drain->setup.targets),
			  stack, words, drain->swapped_ns);
}

/* Asks for Java code, when the agents' files of the window are read. */
static void read_told(void *arg)
{
	struct drain *drain = arg;

	window_each(drain->window, drain->ended_window, want_told, drain);
	code_cache_flush(drain->setup.codes[CODES_JAVA]);
	if (worker_fence(drain->setup.urgent, has_looked_enough, join_window, drain) < 0)
		join_window(drain);
}

static void keep_count(void *arg, const struct count_key *key, const struct stack_count *count)
{
	struct drain *drain = arg;
	struct counted counted = {*key, *count};

	if (key->stack.probe < PROBE_COUNT) /* else it has no stack */
		counted.count.weight = kind_weight(key->stack.probe, count->weight);
	buf_add(&drain->counted, &counted, sizeof(counted));
	if (buf_error(&drain->counted))
		lose_events(drain, key->stack.probe, LOST_READ_FAILED, count->events);
}

static void look_again(void *arg, const struct stack *stack, const uint64_t *words)
{
	struct drain *drain = arg;

	targets_on_stack(drain->setup.targets, stack, words, true);
}

static void wait_for_looks(void *arg)
{
	struct drain *drain = arg;
	bool told = agent_frames_read_on(targets_table(drain->setup.targets), drain->setup.urgent);

	drain->looks_ns = loop_now_ns();

	if (worker_fence(drain->setup.urgent, has_looked_enough, told ? read_told : join_window,
			 drain) < 0)
		join_window(drain);
}

static void swap_window(void *arg)
{
	struct drain *drain = arg;

	drain->ended_window = tracer_window(drain->setup.tracer);
	/* a process that ends after this may be in the next window */
	drain->swapped_ns = loop_now_ns();
	int r = tracer_swap(drain->setup.tracer, keep_count, drain);
	if (r < 0) {
		log_error("a window's counts can't be read and are lost: %s", strerror(-r));
		lose_events(drain, LOSERS_ALL, LOST_READ_FAILED,
			    window_count(drain->window, drain->ended_window));
	}
	drain->time = loop_real_ns();
	drain->setup.began(drain->setup.arg, tracer_window(drain->setup.tracer));
	if (drain->started)
		loop_timer_set(drain->setup.loop, &drain->timer, drain->swapped_ns + WINDOW_NS);
	window_each(drain->window, drain->ended_window, look_again, drain);
	for (int i = 0; i < CODES_KINDS; i++)
		code_cache_flush(drain->setup.codes[i]);
	if (!drain->setup.others(drain->setup.arg, drain->swapped_ns, wait_for_looks, drain))
		wait_for_looks(drain);
}

static void begin_drain(struct drain *drain)
{
	drain->busy = true;
	drain->serving = TAKE_PTR(drain->waiting);
	if (!blocked_walk_look(drain->setup.waiting, swap_window, drain))
		swap_window(drain);
}
