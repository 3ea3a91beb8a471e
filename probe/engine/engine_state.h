/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to engine/engine.c (the parts), engine_subscribers.c (subscribers), engine_select.c (what
 * they want), engine_java.c (Java VMs) and engine_windows.c (events, windows, statistics).
 */
#pragma once

#include "java/agents/agents.h"
#include "alloc/allocators.h"
#include "event/event_files.h"
#include "code/code_cache.h"
#include "select/containers.h"
#include "engine/engine.h"
#include "profile/render.h"
#include "java/agents/jfr.h"
#include "engine/probe_switch.h"

#define NOT_YET UINT64_MAX

struct mapped_event;

struct subscriber {
	struct engine *engine;
	struct subscription subscription;
	struct process_id *ids; /* processes that it chose */
	unsigned number;	/* its bit in sets of subscribers */
	struct profile *profiles[PROBE_COUNT];
	uint64_t since_window[PROBE_COUNT]; /* its first window; NOT_YET: the next one */
	uint64_t unheld[VIEWS];		    /* engine_unheld() when it began with mem_glibc */
};

struct engine {
	struct engine_setup setup;
	struct tracer *tracer;
	struct symbol_files *files;
	struct render_lines lines;
	struct symbolizer *symbolizer;
	struct containers *containers;
	struct targets *targets;
	struct code_cache *codes[CODES_KINDS];
	struct allocators *allocators;
	struct event_files *event_files;
	bool changing;
	unsigned max_overhead; /* percent; 0: no limit */
	struct agents *agents;
	struct jfr *jfr;
	struct java_wish java;
	struct subscriber *java_of; /* gets what VMs record; NULL: none yet */
	struct blocked_walk *waiting;
	struct drain *drain;
	struct times_table *times;
	struct live_heap *live_heap;
	struct snoopers *snoopers[FEATURES];
	struct snoopers *joined;	      /* union of those that are followed */
	struct snoopers *joined_of[FEATURES]; /* the parts of `joined`; references */
	struct probe_switch sampling;
	struct subscriber *subscribers[SUBSCRIBERS_MAX];
	bool running;
	struct arming arming;
	/*
	 * Counts until the last drain: samples lost, events left out by the guard, allocations
	 * without room among those held.
	 */
	uint64_t lost_before[PROBE_COUNT], left_out_before[PROBE_COUNT], unheld_before;
	void (*slow)(void *arg, const struct slow_event *event, const struct slice *slices);
	void *slow_arg;
};

/*
 * Tells the targets what all subscribers want. Returns 0, -ENOMEM or a negative errno of reading
 * /proc.
 */
int engine_reselect(struct engine *engine);

/* Fills in what found no room among what is held, by view, since the start. */
void engine_unheld(const struct engine *engine, uint64_t unheld[VIEWS]);

/* ---- engine/engine_java.c ---- */

/* Takes a stack: its VM may have to be asked for something. */
void engine_meet_java(struct engine *engine, const struct stack *stack);

/* Has VMs asked, or no longer asked, after a change. */
void engine_sweep_java(struct engine *engine);

/* Callbacks of struct drain_setup: others(), told_by_others(). */
bool engine_ask_others(void *arg, uint64_t ended_ns, void (*done)(void *arg), void *done_arg);
uint32_t engine_told_by_others(void *arg, const struct target *target, enum probe probe);
/* Adds what VMs have recorded of the window. */
void engine_add_recorded(struct engine *engine, struct batch *batch);
void engine_drain_soon(void *arg);

/* Callbacks of the tracer and of the drain; `arg` is the engine. */
void engine_on_life(void *arg, const struct life_event *event);
void engine_on_group(void *arg, const struct group_event *event);
void engine_on_moved(void *arg, const struct life_event *event);
void engine_on_mapped(void *arg, const struct mapped_event *event);
void engine_on_stack(void *arg, const struct stack *stack, const uint64_t *words);
void engine_on_code(void *arg, const struct code_copy *copy, size_t bytes);
void engine_on_told(void *arg, const struct told_maps *told, size_t bytes);
void engine_window_began(void *arg, uint64_t window);
uint32_t engine_wanting(void *arg, uint64_t window, enum probe probe);
void engine_add_sinks(void *arg, struct batch *batch, uint64_t window);
bool engine_drain_ended(void *arg);
