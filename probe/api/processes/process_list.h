/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What runs on the host, as /proc tells: jobs read it in pieces, one reading after the other, and
 * keep nothing. Command lines are in processes' memory: if one can't be read in time, the reading
 * begins again, and leaves that process's out, as the readings of the next minute do. Few hang at a
 * time, of one user and in all; with so many the others are left out. Loop thread only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "container/container.h"
#include "loop/hung_set.h"
#include "loop/worker.h"
#include "proc/proc.h"

#define PROCESS_COMMAND_BYTES 257   /* of a command line, with a NUL */
#define PROCESS_USER_BYTES    33    /* of a user's name */
#define PROCESSES_MAX_READ    65536 /* more aren't looked at */

enum process_order { PROCESSES_BY_CPU, PROCESSES_BY_WAIT, PROCESSES_BY_RSS, PROCESSES_BY_PID };

/* What is read of the processes that are shown. */
struct process_detail {
	char user[PROCESS_USER_BYTES]; /* "": not known */
	char command[PROCESS_COMMAND_BYTES];
	bool has_command, is_cut;
	struct container_place place;
};

struct listed_process {
	pid_t pid;
	struct proc_stat stat;
	uint64_t wait_ns; /* of its living threads */
	bool has_wait;
	uid_t uid;
	struct process_detail *detail; /* owned; NULL: it has ended */
};

/* Sums of several processes. */
struct process_sums {
	uint64_t processes, threads, cpu_ticks, rss_pages;
};

struct process_listing {
	struct listed_process *all; /* in the order that was asked for */
	size_t count;		    /* of those that are shown */
	struct process_sums others; /* of those behind them */
	size_t left_out;	    /* processes that were not looked at */
	uint64_t time_ns;	    /* of the reading's begin, ns since 1970 */
	uint64_t cpus;		    /* online */
};

/* Who has processes read. */
struct process_lister {
	struct worker *worker;
	struct hung_set hung; /* user, process: whose command lines aren't read for a while */
};

struct process_question {
	enum process_order order;
	size_t limit; /* processes that are shown */
	/* Gets the list, borrowed during the call; or NULL and a negative errno. */
	void (*done)(void *arg, const struct process_listing *list, int error);
	void *arg;
};

/*
 * Begins a reading. Returns 0 or -ENOMEM. done() is called later, and never after the worker was
 * stopped.
 */
int process_list_read(struct process_lister *lister, const struct process_question *question);
