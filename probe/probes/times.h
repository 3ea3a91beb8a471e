/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What processes have had of their CPUs, and had, added up from their threads. Counters: they never
 * go back while the process keeps its pid. A thread that ends while the others are read is in no
 * sum for a moment; then the sum of before stands.
 *
 * Processes that have ended are kept for a while, so that whoever asks now and then gets their last
 * values.
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
	uint64_t session;	/* with a new one wake-ups and waits begin at zero */
	bool each;		/* each wait of targets WANTED_SCHED, in any state, */
	bool everybody;		/* and of all others; */
	bool wakeups;		/* their wake-ups */
	uint32_t offcpu_states; /* 1 << enum wait_state: of targets of off-CPU, as far as drawn */
};

struct process_times {
	pid_t pid;
	struct container *container; /* NULL: in none, or not known */
	uint64_t start_ns;	     /* CLOCK_BOOTTIME */
	char comm[COMM_BYTES];
	struct times times;
	bool has_delays;   /* times.delay_ns means something, */
	bool has_wakeups;  /* times.wakeups does, */
	uint32_t states;   /* 1 << enum wait_state: of times.waited_ns, those that do */
	uint64_t ended_ns; /* when it ended, about; 0: it lives */
};

/* `max` bounds those that live. -ENOMEM */
int times_new(struct times_table **ret, size_t max);
void times_free(struct times_table *table);

/* A reading: begin, all threads, then all that is gone, end. */
void times_begin(struct times_table *table, uint64_t now_ns, const struct times_counted *counted);
void times_add(struct times_table *table, const struct thread_times *thread);
/* Of a process that is there; it is kept as long as its sums are. */
void times_see_container(struct times_table *table, uint32_t pid, uint64_t start_ns,
			 struct container *container);
/* Whether the process that has, or had, that pid and began then is there. */
bool times_knows(const struct times_table *table, uint32_t pid, uint64_t start_ns);
/* True: that is complete, and it needs not be told again. */
bool times_add_gone(struct times_table *table, const struct gone_key *key, const struct gone *gone);
/* Who was in none of it, and hasn't ended, isn't wanted any more. */
void times_end(struct times_table *table);

/* When the last reading began; 0: there was none. */
uint64_t times_read_ns(const struct times_table *table);

void times_each(const struct times_table *table,
		void (*each)(void *arg, const struct process_times *process), void *arg);

struct times_stats {
	uint64_t refused; /* readings of processes that found no room */
	uint64_t dropped; /* processes that ended and had to make room before their time */
};
const struct times_stats *times_stats(const struct times_table *table);
