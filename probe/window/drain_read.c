// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The steps of reading a window, until its counts can be joined with its stacks. A job reads the
 * counts, beside all steps that look at stacks.
 */
#include "window/drain_state.h"

#include <stdlib.h>

#include "code/java_agent_frames.h"
#include "kernel/blocked_walk.h"
#include "kernel/halves.h"
#include "kind/kind.h"

/*
 * Time from a window's end, after which names wait no longer for other users' processes to be
 * inspected.
 */
#define LOOKS_NS (300 * NS_PER_MS)

bool drain_has_waited(const struct drain *drain, uint64_t until_ns)
{
	return loop_now_ns() >= until_ns && targets_have_users(drain->setup.targets);
}

static bool has_looked_enough(void *arg)
{
	const struct drain *drain = arg;

	return drain_has_waited(drain, drain->looks_ns + LOOKS_NS);
}

/* ---- the counts ---- */

struct counting_job {
	struct job job;
	struct drain *drain;
	struct window_counts *counts;
};

static void counting_run(struct job *job)
{
	struct counting_job *counting = (struct counting_job *)job;

	counting->drain->counts_error = window_counts_read(counting->counts);
}

/* Joins counts and stacks when both are there. */
static void join_if_ready(struct drain *drain)
{
	if (drain->looked && drain->counts)
		drain_join(drain);
}

struct emptying_job {
	struct job job;
	struct drain *drain;
	struct full_maps *maps;
};

static void emptying_run(struct job *job)
{
	full_maps_empty(((struct emptying_job *)job)->maps);
}

static void emptying_done(struct job *job, bool finished)
{
	struct drain *drain = ((struct emptying_job *)job)->drain;

	if (!finished) /* no thread could be started */
		emptying_run(job);
	drain->empties = false;
	if (drain->ends)
		drain_ended(drain);
}

static void emptying_free(struct job *job)
{
	full_maps_free(((struct emptying_job *)job)->maps);
	free(job);
}

/* Empties the maps whose counts were read, beside all steps after that. */
static void empty_maps(struct drain *drain)
{
	struct full_maps *maps = window_counts_full(drain->counts);
	struct emptying_job *emptying = maps ? malloc(sizeof(*emptying)) : NULL;

	if (!maps)
		return;
	if (!emptying) {
		full_maps_empty(maps);
		full_maps_free(maps);
		return;
	}
	*emptying = (struct emptying_job){
		.job = {.run = emptying_run,
			.done = emptying_done,
			.free = emptying_free,
			.unlimited = true,
			.patient = true}, /* fences are for what the next steps need */
		.drain = drain,
		.maps = maps,
	};
	drain->empties = true;
	worker_submit(drain->setup.urgent, &emptying->job);
}

static void counting_done(struct job *job, bool finished)
{
	struct counting_job *counting = (struct counting_job *)job;
	struct drain *drain = counting->drain;

	if (!finished) /* no thread could be started */
		counting_run(job);
	drain->counts = TAKE_PTR(counting->counts);
	empty_maps(drain);
	if (drain->dropped)
		window_counts_clear(drain->counts);
	join_if_ready(drain);
}

static void counting_free(struct job *job)
{
	struct counting_job *counting = (struct counting_job *)job;

	window_counts_free(counting->counts);
	free(counting);
}

static void read_counts(struct drain *drain)
{
	struct counting_job *counting = malloc(sizeof(*counting));

	if (!counting) {
		drain->counts_error = window_counts_read(drain->counts);
		empty_maps(drain);
		return;
	}
	*counting = (struct counting_job){
		.job = {.run = counting_run,
			.done = counting_done,
			.free = counting_free,
			.unlimited = true},
		.drain = drain,
	};
	counting->counts = TAKE_PTR(drain->counts);
	worker_submit(drain->setup.urgent, &counting->job);
}

/* ---- the stacks ---- */

static void wait_for_answers(struct drain *drain, void (*passed)(void *arg));

/* Has processes searched for what reading their code couldn't tell. Returns whether any is. */
static bool search_codes(struct drain *drain)
{
	bool any = false;

	for (int i = 0; i < CODES_KINDS; i++)
		any |= code_cache_search(drain->setup.codes[i]);
	return any;
}

static void have_looked(void *arg)
{
	struct drain *drain = arg;

	if (!drain->searched) {
		drain->searched = true;
		if (search_codes(drain)) {
			wait_for_answers(drain, have_looked);
			return;
		}
	}
	drain->looked = true;
	join_if_ready(drain);
}

/* Calls passed() when all is known that was asked for on the worker `urgent`. */
static void wait_for_answers(struct drain *drain, void (*passed)(void *arg))
{
	if (worker_fence(drain->setup.urgent, has_looked_enough, passed, drain) < 0)
		have_looked(drain);
}

static void want_told(void *arg, const struct stack *stack, const uint64_t *words)
{
	const struct drain *drain = arg;

	agent_frames_want(drain->setup.codes[CODES_JAVA], targets_table(drain->setup.targets),
			  stack, words, drain->swapped_ns);
}

static bool want_some(void *arg)
{
	struct drain *drain = arg;

	return window_some(drain->window, drain->ended_window, &drain->at, DRAIN_PIECE_WORDS,
			   want_told, drain);
}

static void all_wanted(void *arg)
{
	struct drain *drain = arg;

	code_cache_flush(drain->setup.codes[CODES_JAVA]);
	wait_for_answers(drain, have_looked);
}

/* Asks for Java code, when the agents' files of the window are read. */
static void read_told(void *arg)
{
	struct drain *drain = arg;

	drain->at = 0;
	pieces_begin(&drain->pieces, want_some, all_wanted);
}

static void wait_for_looks(void *arg)
{
	struct drain *drain = arg;
	targets_read_dumps(drain->setup.targets);
	bool told = agent_frames_read_on(targets_table(drain->setup.targets), drain->setup.urgent);

	drain->looks_ns = loop_now_ns();
	wait_for_answers(drain, told ? read_told : have_looked);
}

static void look_again(void *arg, const struct stack *stack, const uint64_t *words)
{
	const struct drain *drain = arg;

	targets_on_stack(drain->setup.targets, stack, words, true);
	if (stack->key.probe < PROBE_COUNT && kind_get(stack->key.probe)->at_switch)
		scheduler_frames_learn(drain->scheduler, stack, words);
}

static bool look_at_some(void *arg)
{
	struct drain *drain = arg;

	return window_some(drain->window, drain->ended_window, &drain->at, DRAIN_PIECE_WORDS,
			   look_again, drain);
}

static void all_looked_at(void *arg)
{
	struct drain *drain = arg;

	for (int i = 0; i < CODES_KINDS; i++)
		code_cache_flush(drain->setup.codes[i]);
	if (!drain->setup.others(drain->setup.arg, drain->swapped_ns, wait_for_looks, drain))
		wait_for_looks(drain);
}

static bool read_some_stacks(void *arg)
{
	const struct drain *drain = arg;

	return tracer_read_stacks(drain->setup.tracer);
}

static void stacks_read(void *arg)
{
	struct drain *drain = arg;

	drain->at = 0;
	pieces_begin(&drain->pieces, look_at_some, all_looked_at);
}

/* All of the window is there to be read. */
static void window_ended(void *arg)
{
	struct drain *drain = arg;

	read_counts(drain);
	pieces_begin(&drain->pieces, read_some_stacks, stacks_read);
}

static void swap_window(void *arg)
{
	struct drain *drain = arg;

	drain->ended_window = tracer_window(drain->setup.tracer);
	/* a process that ends after this may be in the next window */
	drain->swapped_ns = loop_now_ns();
	drain->dropped = drain->looked = drain->searched = false;
	tracer_swap(drain->setup.tracer, drain->setup.urgent, drain->counts, window_ended, drain);
	drain_window_began(drain);
	drain->setup.began(drain->setup.arg, tracer_window(drain->setup.tracer));
}

/* Events that go on are renewed: those that begin now are of this window, until it ends. */
static void events_renewed(void *arg)
{
	struct drain *drain = arg;

	if (!blocked_walk_look(drain->setup.waiting, swap_window, drain))
		swap_window(drain);
}

void drain_read(struct drain *drain)
{
	if (!tracer_renew_halves(drain->setup.tracer, drain->setup.urgent, events_renewed, drain))
		events_renewed(drain);
}
