/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A worker: a thread beside the loop, with a fair queue of jobs that can be given up.
 *
 * A job belongs to an owner: the daemon itself, or the user (in a root folder) who owns the process
 * or the file that the job reads. Jobs of one owner run one at a time, in the order in which they
 * were submitted. The next job is of the owner who has used the least of the worker's time. If a
 * user's job runs longer than WORKER_ASIDE_NS while other owners' jobs wait, its thread is put
 * aside and a new thread serves the queue, so nobody waits longer than that for another user's job.
 * The daemon's own jobs are not put aside.
 *
 * A job may hang, because it may read from a target's file system (FUSE, NFS). After its time limit
 * a job is given up: its thread is left alone, a new thread serves the queue, and the job's done()
 * is called. So a job must own all that it touches.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "loop/loop.h"

struct worker;

/* Threads of a worker that may hang or be aside at a time. With so many no further thread starts:
 * jobs wait for a thread that is aside or, if all hang, are refused. */
#define WORKER_HANGING_MAX 64
/* Threads that may hang of one user in one root folder; beyond, this owner's jobs are refused. */
#define WORKER_HANGING_OF_ONE_MAX 8
/* Threads of one user in all root folders: with a user namespace a user can make any number of
 * these. If so many hang, the user's jobs are refused; if so many hang or run, they wait. User 0 in
 * other root folders than ours is the root of all containers, hence the higher number. */
#define WORKER_THREADS_OF_USER_MAX (WORKER_HANGING_MAX / 4)
#define WORKER_THREADS_OF_ROOT_MAX (WORKER_HANGING_MAX / 2)

#define WORKER_ASIDE_NS		   (200 * NS_PER_MS)

/*
 * The owner of a job, in 64 bits: 0 for the daemon, else a user (in our user namespace) and a root
 * folder, since users of two containers may have the same number and nothing else in common.
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
	JOB_HANGS,  /* given up; the job was blocked nearly all the time */
	JOB_SLOW,   /* given up; the job was computing */
	JOB_REFUSED /* never begun, because too many threads hang */
};

struct job {
	/* Does the work, on a thread of the worker. */
	void (*run)(struct job *job);
	/* Reports the end, on the loop's thread. finished = false: the job was given up (run() may
	 * still be running, so its results must not be touched) or refused; `end` says which. May
	 * be NULL. */
	void (*done)(struct job *job, bool finished);
	/* Frees the job when nobody uses it any more: after done(), or when a hanging run() has
	 * returned. On either thread. May be NULL. */
	void (*free)(struct job *job);

	uint64_t whose; /* the owner: job_of(), or JOB_OWN */
	bool unlimited; /* the job can't hang and is never given up; for JOB_OWN only */
	/* The job is never refused: it waits until its owner may run a job again. Fences don't wait
	 * for it. */
	bool patient;

	/* The time limit, ns, if larger than the worker's. run() may raise it by job_extend(), once
	 * it is past the calls that may hang. */
	uint64_t limit_ns;

	/* Valid in done(). */
	enum job_end end;

	/* private to the worker */
	struct worker *worker;
	struct job *next;
	struct loop_call call;
	uint64_t sequence;
};

/* Sets the running job's time limit, counted from its beginning. To be called in run(). */
void job_extend(struct job *job, uint64_t limit_ns);

/* Makes a worker; its first thread starts with the first job. `name`, a static string of at
 * most 15 bytes, is that of its threads and of the ends of its jobs (loop/loop.h); `limit_ns` is a
 * job's time limit. Returns 0, or -ENOMEM. The caller owns *ret. */
int worker_new(struct worker **ret, struct loop *loop, const char *name, uint64_t limit_ns);

/* The nice value, beside others', of work that must not be late: the maps of a process have to be
 * read before the process ends, also while all CPUs are busy; and a PUT waits for what is checked
 * and loaded. The loop has it, too. */
#define WORKER_PROMPT (-10)

/* Sets the nice value of threads that start later: loop_nice() plus `nice` (-40 to 39). Without the
 * privilege those threads stay as nice as the thread that starts them. */
void worker_set_nice(struct worker *worker, int nice);

/* Stops the worker: frees the jobs in the queue without calling done(), as all jobs submitted
 * later, and waits for the running jobs, but for each no longer than 1 s past the worker's limit,
 * counted from the job's beginning. An unlimited job is waited for until it ends. */
void worker_stop(struct worker *worker);

/* Drops a reference; for the last one, worker_stop() was called. `worker` may be NULL. */
void worker_free(struct worker *worker);

/* Returns a further reference, for who submits jobs from threads that may return after the worker's
 * end: those jobs are freed. Any thread. */
struct worker *worker_ref(struct worker *worker);

/* Takes over `job`. Any thread. done() is called later, never inside this function. */
void worker_submit(struct worker *worker, struct job *job);

/* Calls passed(arg) on the loop's thread when all jobs submitted before are done, given up or
 * refused, or as soon as enough(arg) returns true. enough() is asked every 50 ms, on the loop's
 * thread with the worker locked (NULL: never). Returns 0, or -ENOMEM. */
int worker_fence(struct worker *worker, bool (*enough)(void *arg), void (*passed)(void *arg),
		 void *arg);

/* Return how many jobs were given up, and how many were refused because too many jobs of their user
 * or of all hung, since the start. */
uint64_t worker_given_up(const struct worker *worker);
uint64_t worker_refused(const struct worker *worker);
/* Counts a job as refused for which there was no memory. Any thread. */
void worker_count_refused(struct worker *worker);
