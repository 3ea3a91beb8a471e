/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The worker's state, shared by loop/worker.c (threads, their watchdog) and loop/worker_queue.c
 * (the fair queue, fences). Private to these two files. */
#pragma once

#include <pthread.h>

#include "loop/worker.h"

struct thread {
	struct worker *worker;
	struct job_owner *owner; /* the owner of `job` */
	struct job *job;	 /* the job that runs now; NULL: none */
	uint64_t started_ns;	 /* when `job` began: CLOCK_MONOTONIC */
	uint64_t started_cpu_ns; /* the thread's CPU time then */
	pthread_t id;
	bool hangs;	     /* `job` was given up */
	bool reported;	     /* the done() of the job that was given up has been called */
	struct thread *next; /* in worker->aside */
};

/* An owner of jobs, with the queue of these. */
struct job_owner {
	struct job_owner *next;
	uint64_t whose;
	struct job *queue, **queue_end;
	struct thread *running; /* NULL: no job runs; jobs that were given up don't count */
	unsigned hanging;	/* jobs that were given up and haven't returned */
	uint64_t used_ns;	/* time used; an owner who was idle starts from worker->clock_ns */
};

struct fence {
	struct fence *next;
	struct loop_call call;
	uint64_t sequence;	   /* the first job that the fence doesn't wait for */
	bool (*enough)(void *arg); /* NULL: never */
	void (*passed)(void *arg);
	void *arg;
};

struct worker {
	struct loop *loop;
	const char *name; /* of its threads, and of what it has the loop call */
	uint64_t limit_ns;
	int nice; /* of new threads, beside the loop's workers' */
	struct loop_timer watchdog;
	struct loop_call begin_watch;
	uint64_t given_up, refused;

	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct thread *thread; /* the thread that serves the queue; NULL: none */
	struct thread *aside;  /* threads with long jobs, which end with their job */
	unsigned aside_count;
	struct job_owner own; /* the daemon itself, first in the list of owners */
	struct fence *fences; /* fences not passed yet, in order */
	uint64_t sequence;    /* the number of the next job */
	uint64_t clock_ns;    /* used_ns of the owner whose job was taken last */
	unsigned hanging;     /* threads whose job was given up and hasn't returned */
	bool closing;
	bool watched;	/* the watchdog is set, or will be */
	unsigned users; /* references: the threads, and 1 until worker_free() */
};

/* All these functions are called with the lock held. */

void queue_init(struct worker *worker);
/* Adds a job to its owner's queue; without memory for a new owner, to the daemon's own. */
void queue_put(struct worker *worker, struct job *job);
/* Takes the next job out of the queue and stores its owner; NULL: no job may run now. */
struct job *queue_take(struct worker *worker, struct job_owner **owner);
/* Takes any job out of the queue, whether or not it may run; NULL: there is none. */
struct job *queue_take_any(struct worker *worker);
/* Records that the owner's job has ended or was given up, after `ran_ns`. */
void queue_ended(struct worker *worker, struct job_owner *owner, uint64_t ran_ns);
/* Records that a job that was given up has returned. */
void queue_returned(struct worker *worker, struct job_owner *owner);
/* Refuses all jobs in the queue but the patient ones: posts their done(). */
void queue_refuse_all(struct worker *worker);
bool queue_is_empty(const struct worker *worker);
/* Returns whether a job of another owner may run now. */
bool queue_has_others(const struct worker *worker, const struct job_owner *owner);
void queue_free_owners(struct worker *worker);

/* Posts the fences that have no job left to wait for. */
void fences_check(struct worker *worker);
/* Like fences_check(), but posts also the fences whose enough() says so. Loop thread only. */
void fences_ask(struct worker *worker);
void fences_free(struct worker *worker);

/* Has the watchdog run soon, unless it is set already. */
void worker_watch(struct worker *worker);
