/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tracer's part for what processes cost (bpf/costs.bpf.c), of all processes of the host. It
 * needs nothing else of the tracer to be started. Loop thread only, unless it says otherwise.
 */
#pragma once

#include "bpf/shared/process_cost.h"
#include "kernel/tracer.h"

struct cost_events {
	void (*ended)(void *arg, const struct ended_cost *ended); /* a process has ended */
	void *arg;
};

/* Loads the programs and attaches them, unless that is done. Returns 0, or a negative errno and a
 * sentence in `why`. */
int tracer_costs_start(struct tracer *tracer, const struct cost_events *events, struct why *why);
void tracer_costs_stop(struct tracer *tracer);

/* Reports the processes that have ended so far. */
void tracer_costs_poll(struct tracer *tracer);

/* Returns a descriptor to read the struct thread_cost of all threads of the host from
 * (hooks/iterator.h), which the caller closes; or a negative errno. */
int tracer_costs_open(struct tracer *tracer);

/* Returns a descriptor of the map `cost_ended`, which the caller closes; or a negative errno. */
int tracer_costs_open_ended(const struct tracer *tracer);

/* Forgets what that map has of a process whose end was missed, and counts the process as lost. */
void tracer_costs_miss(struct tracer *tracer, const struct cost_ended_key *key);

struct costs_lost {
	uint64_t threads; /* that ended, and whose delays and migrations aren't counted */
	/* that ended, and aren't counted from their last reading on: their record found no room, or
	 * no program of ours was run at their end */
	uint64_t processes;
};
void tracer_costs_lost(const struct tracer *tracer, struct costs_lost *lost);

/* Returns the values that are counted here: by the kernel, and by what is started
 * (hooks/tracer_cost_counters.h); 1 << enum cost. */
uint64_t tracer_costs_known(const struct tracer *tracer);

/* Tells what processes' times are without. */
void tracer_costs_kinds(const struct tracer *tracer, bool *interrupts, bool *steal);

extern const struct loadable *const cost_loads[];
