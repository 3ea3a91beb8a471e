/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reading a window ("drain"), every 30 s, when somebody asks, and before it fills up:
 *
 *	have waiting threads walked -> swap windows -> have VMs that record tell of it -> wait
 *	until new processes and their code are known -> join counts and stacks -> have files read ->
 * name, on the bulk worker -> tell who asked
 *
 * One at a time; who asks while one goes on gets the next one. On the loop's thread.
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
	uint32_t stacks_max; /* of a window */

	/* A window begins. */
	void (*began)(void *arg, uint64_t window);
	/* A window has ended, at that time of loop_now_ns(): some processes tell of it themselves.
	 * False: none does. True: done(done_arg) is called, later, when they have. */
	bool (*others)(void *arg, uint64_t ended_ns, void (*done)(void *arg), void *done_arg);
	/* Subscribers that have a target's stacks of the window from there. */
	uint32_t (*told_by_others)(void *arg, const struct target *target, enum probe probe);
	/* The subscribers that want what was sampled for a probe in a window. */
	uint32_t (*wanting)(void *arg, uint64_t window, enum probe probe);
	/* Adds their sinks, and what others told. */
	void (*add_sinks)(void *arg, struct batch *batch, uint64_t window);
	/* A drain has ended; true: one more is wanted. */
	bool (*ended)(void *arg);
	void *arg;
};

/* -ENOMEM */
int drain_new(struct drain **ret, const struct drain_setup *setup);
void drain_free(struct drain *drain);

/* Windows end every 30 s from now on; until drain_stop(), which forgets what isn't read. */
void drain_start(struct drain *drain);
void drain_stop(struct drain *drain);

/* Reads the window that runs now and calls done(arg) when its stacks are in the profiles: later,
 * never inside, and even when there is no memory or nothing runs. done NULL: nobody is told. */
void drain_request(struct drain *drain, void (*done)(void *arg), void *arg);

/* A new stack arrived. */
void drain_on_stack(struct drain *drain, const struct stack *stack, const uint64_t *words);

/* Reads the window soon, for something fills up; not inside. */
void drain_soon(struct drain *drain);

/* When the window read last ended. */
int64_t drain_time(const struct drain *drain);

/* The same, CLOCK_MONOTONIC ns; 0: none was read. */
uint64_t drain_ended_ns(const struct drain *drain);

struct drain_stats {
	uint64_t unwanted[PROBE_COUNT]; /* samples of processes that did not match after all */
	uint64_t lost[LOSERS_COUNT][LOST_COUNT]; /* by the daemon */
	uint64_t truncated[PROBE_COUNT][TRUNCATED_COUNT];
	uint64_t refused;	 /* weight that found no room in a profile */
	uint64_t unrecorded;	 /* events that found no room in a profile's records */
	uint64_t inline_unknown; /* events of Java stacks with an inlined method that isn't known */
	uint64_t untold;	 /* … with code of which the agent has told nothing */
	uint64_t windows, window_stacks;
};
const struct drain_stats *drain_stats(const struct drain *drain);
