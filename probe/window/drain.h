/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Drain: reads a window every 30 s, when somebody asks, and before it fills up. Loop thread only.
 * Steps:
 *
 *	renew events that go on -> walk blocked threads -> swap windows ->
 *	ask VMs that record themselves ->
 *	wait until new processes and their code are known -> join counts with stacks ->
 *	read files -> name, on the bulk worker -> call those who asked
 *
 * One drain runs at a time; a request during one gets the next one.
 */
#pragma once

#include "loop/worker.h"
#include "window/batch.h"
#include "code/code_cache.h"
#include "target/target.h"
#include "kernel/tracer.h"

struct drain;
struct blocked_walk;

struct drain_setup {
	struct loop *loop;
	struct worker *urgent, *bulk;
	struct tracer *tracer;
	struct blocked_walk *waiting;
	struct targets *targets;
	struct code_cache *codes[CODES_KINDS];
	struct symbol_files *files;
	struct symbolizer *symbolizer;
	struct stack_cache *stack_cache;
	uint32_t stacks_max; /* most stacks of a window */

	/* Called when a window begins. */
	void (*began)(void *arg, uint64_t window);
	/*
	 * Called when a window ended, at that loop_now_ns(). Asks processes that record themselves
	 * (JFR) for their data. Returns false if there are none; otherwise done(done_arg) is
	 * called, later, when all have answered or were given up.
	 */
	bool (*others)(void *arg, uint64_t ended_ns, void (*done)(void *arg), void *done_arg);
	/* Returns the subscribers that get a target's stacks of the window from there. */
	uint32_t (*told_by_others)(void *arg, const struct target *target, enum probe probe);
	/* Returns the subscribers that want the samples of a probe in a window. */
	uint32_t (*wanting)(void *arg, uint64_t window, enum probe probe);
	/* Adds the subscribers' sinks, and the stacks recorded by VMs. */
	void (*add_sinks)(void *arg, struct batch *batch, uint64_t window);
	/* Called when a drain has ended. Returns true if one more is wanted. */
	bool (*ended)(void *arg);
	void *arg;
};

/* Creates it, stopped; the caller owns *ret. Returns 0 or -ENOMEM. */
int drain_new(struct drain **ret, const struct drain_setup *setup);
void drain_free(struct drain *drain);

/* Start ending windows every 30 s; stop that, and forget what isn't read. */
void drain_start(struct drain *drain);
void drain_stop(struct drain *drain);

/*
 * Reads the current window, and calls done(arg) when its stacks are in the profiles, even if
 * nothing runs: later, never inside, except at once if there is no memory for the request. `done`
 * NULL: nobody is told.
 */
void drain_request(struct drain *drain, void (*done)(void *arg), void *arg);

/* Takes a stack that is new in its window. */
void drain_on_stack(struct drain *drain, const struct stack *stack, const uint64_t *words);

/* Begins to read the window soon, because something fills up; never inside. */
void drain_soon(struct drain *drain);

/* Returns when the window that was read last ended, loop_real_ns(). */
int64_t drain_time(const struct drain *drain);

/* Like drain_time(), CLOCK_MONOTONIC ns; 0: none was read. */
uint64_t drain_ended_ns(const struct drain *drain);

/* Has targets that ended be kept for so long after their window was read, for what they held. */
void drain_keep_ended(struct drain *drain, uint64_t ns);

struct drain_stats {
	uint64_t unwanted[PROBE_COUNT]; /* samples of processes that didn't match after all */
	uint64_t lost[LOSERS_COUNT][LOST_COUNT]; /* events lost by the daemon */
	uint64_t truncated[PROBE_COUNT][TRUNCATED_COUNT];
	uint64_t refused;	 /* events without room in a profile */
	uint64_t unrecorded;	 /* events without room in a profile's records */
	uint64_t inline_unknown; /* events of Java stacks whose inlined methods aren't known */
	uint64_t untold;	 /* events of Java stacks with code that the agent's log lacks */
	uint64_t windows, window_stacks;
};

/* Returns the statistics, borrowed. */
const struct drain_stats *drain_stats(const struct drain *drain);

/* Rows of struct drain_stats (measure/measure.h). */
extern const struct measures drain_measures, drain_java_measures;
