/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A worker: a thread with a queue, beside the loop.
 *
 * A job says whose work it is: the daemon's own, or that of a user, who has the process or the file
 * that is read, in a root folder. Jobs of one user run one at a time, in the order in which they
 * were submitted; among users the next one is of whoever has had the least of the worker's time. A
 * user's job that goes on for longer than WORKER_ASIDE_NS while others wait keeps its thread, and
 * another thread serves the queue: so nobody waits for another user's work for longer than that.
 * The daemon's own jobs aren't overtaken like this by one another.
 *
 * A job may hang, for it may read what lies in a target's file system (FUSE, NFS). After its time
 * limit it is given up: its thread is left to itself, another takes over the queue, and who
 * submitted it is told. So a job owns all that it touches.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "loop/loop.h"

struct worker;

/* Threads that may hang at a time; with so many, further jobs are given up at once. */
#define WORKER_HANGING_MAX 64
/* The same of one user in one root folder; only their jobs are refused then. */
#define WORKER_HANGING_OF_ONE_MAX 8
/* And of one user in all root folders, of which who has a user namespace makes as many as it likes;
 * counting those that are aside. Root in other roots than ours is every container's. */
#define WORKER_THREADS_OF_USER_MAX (WORKER_HANGING_MAX / 4)
#define WORKER_THREADS_OF_ROOT_MAX (WORKER_HANGING_MAX / 2)

#define WORKER_ASIDE_NS		   (200 * NS_PER_MS)

/*
 * Whose work a job is: 0 the daemon's own, else that of a user (the one that we see) in a root
 * folder: containers have users of the same number, and nothing else in common.
 *
 *	63              33 32               0
 *	| root, 0: ours   | user, and one    |
 */
#define JOB_OWN	       0
#define JOB_ROOT_SHIFT 33
static inline uint64_t job_of(uid_t uid, uint32_t root)
{
	return (uint64_t)root << JOB_ROOT_SHIFT | (1 + (uint64_t)uid);
}
static inline uid_t job_user(uint64_t whose)
{
	return (uid_t)((whose & ((UINT64_C(1) << JOB_ROOT_SHIFT) - 1)) - 1);
}

enum job_end {
	JOB_FINISHED,
	JOB_HANGS,  /* given up; it has waited for something nearly all the time */
	JOB_SLOW,   /* given up; it has computed */
	JOB_REFUSED /* never begun */
};

struct job {
	/* On the worker's thread. */
	void (*run)(struct job *job);
	/* On the loop's thread. finished = false: given up (run() may still be going on, so its
	 * results must not be touched) or never begun, because too many threads hang; the job's
	 * `end` tells which. */
	void (*done)(struct job *job, bool finished);
	/* When nobody uses the job any more: after done(), or when a hanging run() returned. On
	 * either thread. */
	void (*free)(struct job *job);

	uint64_t whose; /* job_of(), or JOB_OWN */
	bool unlimited; /* it can't hang: never give it up. Of the daemon's own jobs only */
	/* Never refuse it: it waits until its user may run a job again. No fence waits for it. */
	bool patient;

	/* The time that it may take, where that is more than the worker's limit. run() may raise
	 * it by job_extend(), once it is past what hangs. */
	uint64_t limit_ns;

	/* In done(). */
	enum job_end end;

	/* the worker's own */
	struct worker *worker;
	struct job *next;
	struct loop_call call;
	uint64_t sequence;
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

/* Calls passed(arg) on the loop's thread when all jobs submitted before are done or given up, or as
 * soon as enough(arg) says so, whatever goes on then: that is asked every 50 ms, on the loop's
 * thread with the worker locked; NULL: never. -ENOMEM */
int worker_fence(struct worker *worker, bool (*enough)(void *arg), void (*passed)(void *arg),
		 void *arg);

/* Jobs that were given up since the start; that were refused, for too many of their user's or at
 * all hung. */
uint64_t worker_given_up(const struct worker *worker);
uint64_t worker_refused(const struct worker *worker);
/* Counts one that there was no memory for, from any thread. */
void worker_count_refused(struct worker *worker);
