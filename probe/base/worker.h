/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A worker: one thread with one queue, beside the loop. Jobs run in the order in which they were
 * submitted.
 *
 * A job may hang, for it may read what lies in a target's file system (FUSE, NFS). After its time
 * limit it is given up: its thread is left to itself, another takes over the queue, and the job's
 * owner is told. So a job owns all that it touches.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/loop.h"

struct worker;

/* Threads that may hang at a time; with so many, further jobs are given up at once. */
#define WORKER_HANGING_MAX 64

struct job {
	/* On the worker's thread. */
	void (*run)(struct job *job);
	/* On the loop's thread. finished = false: given up (run() may still be going on, so its
	 * results must not be touched) or never begun, because too many threads hang. */
	void (*done)(struct job *job, bool finished);
	/* When nobody uses the job any more: after done(), or when a hanging run() returned. On
	 * either thread. */
	void (*free)(struct job *job);

	bool unlimited; /* it can't hang: never give it up */

	/* The time that it may take, where that is more than the worker's limit. run() may raise
	 * it by job_extend(), once it is past what hangs. */
	uint64_t limit_ns;

	/* the worker's own */
	struct worker *worker;
	struct job *next;
	struct loop_call call;
	bool finished;
};

/* In run(): from now on the job may take so long, from its beginning. */
void job_extend(struct job *job, uint64_t limit_ns);

/* `name` is the thread's, at most 15 bytes. -ENOMEM */
int worker_new(struct worker **ret, struct loop *loop, const char *name, uint64_t limit_ns);

/* How nice its threads are beside the thread that calls this, -40 to 39; for those that start
 * later. Without the privilege they are as nice as that. */
void worker_set_nice(struct worker *worker, int nice);

/* Waits for the job that runs (unless it hangs past the limit, as counted from its
 * beginning) and frees those in the queue
 * without calling done(), as it does with those that are submitted afterwards. */
void worker_stop(struct worker *worker);

/* After worker_stop(). */
void worker_free(struct worker *worker);

/* From any thread. done() is called later, never inside. */
void worker_submit(struct worker *worker, struct job *job);

/* Calls passed(arg) on the loop's thread when all jobs submitted before are done or given up.
 * -ENOMEM */
int worker_fence(struct worker *worker, void (*passed)(void *arg), void *arg);

/* Jobs that were given up since the start. */
uint64_t worker_given_up(const struct worker *worker);
