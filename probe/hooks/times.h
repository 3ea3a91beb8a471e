/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CPU times of processes, present and past, summed up from their threads. They are counters: they
 * never go back while the process keeps its pid. A thread that ends while others are read is in no
 * sum for a moment; then the sum of the reading before stands.
 *
 * Processes that have ended are kept for a while, so that someone who reads rarely gets their last
 * values. Loop thread only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/shared/thread_times.h"

struct container;

#define TIMES_KEPT_NS	(300 * 1000000000ULL)
#define TIMES_ENDED_MAX 4096

struct times_table;

/* What the scheduler's programs count while a reading is made. */
struct times_counted {
	uint64_t session; /* in a new session wake-ups and waits begin at zero */
	bool each;	  /* each wait, in any state, of targets WANTED_SCHED is counted */
	bool everybody;	  /* and of all other processes */
	bool wakeups;	  /* their wake-ups are counted, too */
	/* 1 << enum wait_state: waits counted of targets of off-CPU, as far as drawn */
	uint32_t offcpu_states;
};

struct process_times {
	pid_t pid;
	struct container *container; /* NULL: none, or not known; the table's reference */
	uint64_t start_ns;	     /* CLOCK_BOOTTIME */
	char comm[COMM_BYTES];
	struct times times;
	bool has_delays;  /* times.delay_ns is counted */
	bool has_wakeups; /* times.wakeups is counted */
	/* 1 << enum wait_state: those of times.waited_ns that are counted */
	uint32_t states;
	uint64_t ended_ns; /* when it ended, about, CLOCK_MONOTONIC; 0: it lives */
};

/*
 * Creates a table for at most `max` living processes; the caller owns *ret. Returns 0 or -ENOMEM.
 */
int times_new(struct times_table **ret, size_t max);
void times_free(struct times_table *table);

/* A reading: times_begin(), all threads, then all that is gone, times_end(). */
void times_begin(struct times_table *table, uint64_t now_ns, const struct times_counted *counted);
void times_add(struct times_table *table, const struct thread_times *thread);
/* Notes the container of a process that is in the table, with a reference. */
void times_see_container(struct times_table *table, uint32_t pid, uint64_t start_ns,
			 struct container *container);
/* Returns whether the process with that pid and start is in the table. */
bool times_knows(const struct times_table *table, uint32_t pid, uint64_t start_ns);
/*
 * Adds what ended threads had. Returns true if that is complete, so that it needs no further
 * reading.
 */
bool times_add_gone(struct times_table *table, const struct gone_key *key, const struct gone *gone);
/*
 * Ends the reading: drops living processes that it didn't see, and processes that ended too long
 * ago.
 */
void times_end(struct times_table *table);

/* Returns when the last reading began; 0: there was none. */
uint64_t times_read_ns(const struct times_table *table);

/* Calls each() for all processes. */
void times_each(const struct times_table *table,
		void (*each)(void *arg, const struct process_times *process), void *arg);

struct times_stats {
	uint64_t refused; /* processes that found no room, counted in each reading */
	uint64_t dropped; /* ended processes that were dropped early to make room */
};
const struct times_stats *times_stats(const struct times_table *table);
