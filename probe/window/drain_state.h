/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to window/drain.c (when a window is read, and who waits for that), drain_read.c (its
 * steps) and drain_join.c (joins counts with stacks).
 */
#pragma once

#include "kernel/window_counts.h"
#include "loop/pieces.h"
#include "window/drain.h"
#include "window/scheduler_frames.h"
#include "window/window.h"

struct waiter {
	struct waiter *next;
	struct loop_call call;
	void (*done)(void *arg);
	void *arg;
};

struct naming_job;

struct drain {
	struct drain_setup setup;
	struct window *window;
	struct loop_timer timer; /* the next window's end */
	struct loop_call early;
	bool early_posted;
	bool started, busy, due;	  /* due: the next window's end came while busy */
	struct waiter *waiting, *serving; /* for the next drain; for the current one */

	/* of the window that is being read */
	struct window_counts *counts; /* NULL: a job reads them */
	int counts_error;	      /* of reading them */
	bool empties;		      /* a job empties the kernel's maps of the window … */
	bool ends;		      /* … and the drain ends with it */
	bool dropped;		      /* it was stopped: its counts are forgotten */
	bool searched;		      /* searches for Python's functions were submitted */
	bool looked;		      /* all is known of its processes that can be */
	struct pieces pieces;	      /* the current step */
	size_t at;		      /* how far that step has come */
	struct naming_job *naming;    /* the batch that is filled, or waits for functions */
	bool reads_kernel;	      /* a job reads, or has read, the kernel's names */
	struct scheduler_frames *scheduler;
	uint64_t kept_ns; /* drain_keep_ended() */
	uint64_t ended_window, swapped_ns;
	uint64_t looks_ns, reads_ns; /* when inspections and reading files began */

	int64_t time; /* of the last window's end, loop_real_ns() */
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

/* Most words of stacks that a piece looks at: 1 ms. */
#define DRAIN_PIECE_WORDS (8u * 1024)

/* Reads the current window, step by step; the last step calls drain_ended(). */
void drain_read(struct drain *drain);
void drain_window_began(struct drain *drain);
void drain_ended(struct drain *drain);

/* Returns whether the time is over. If one user has all targets, they wait for no other one's. */
bool drain_has_waited(const struct drain *drain, uint64_t until_ns);

/* Joins counts and stacks, and has them named. */
void drain_join(struct drain *drain);
void drain_free_naming(struct drain *drain);

/* Count events that the daemon lost. */
void drain_lose(struct drain *drain, uint32_t of, enum loss where, uint64_t events);
