/* SPDX-License-Identifier: GPL-2.0-only */
/* What loop/worker.c (threads, their watchdog) and loop/worker_queue.c (whose turn it is, fences)
 * share. Nobody else includes it. */
#pragma once

#include <pthread.h>

#include "loop/worker.h"

struct thread {
	struct worker *worker;
	struct owner *owner; /* of the job */
	struct job *job;     /* that runs now */
	uint64_t started_ns; /* when it began */
	uint64_t started_cpu_ns;
	pthread_t id;
	bool hangs;
	bool reported;	     /* who submitted it knows that it hangs */
	struct thread *next; /* of worker->aside */
};

/* Whose jobs these are. */
struct owner {
	struct owner *next;
	uint64_t whose;
	struct job *queue, **queue_end;
	struct thread *running; /* NULL: none of them runs; those that were given up don't count */
	unsigned hanging;	/* that were given up and haven't returned */
	uint64_t used_ns;	/* of the worker's time; one who comes has had as much as others */
};

struct fence {
	struct fence *next;
	struct loop_call call;
	uint64_t sequence;	   /* of the first job that it doesn't wait for */
	bool (*enough)(void *arg); /* NULL: never */
	void (*passed)(void *arg);
	void *arg;
};

struct worker {
	struct loop *loop;
	char name[16];
	uint64_t limit_ns;
	int priority; /* a nice value; only if it has one */
	bool has_priority;
	struct loop_timer watchdog;
	struct loop_call begin_watch;
	uint64_t given_up, refused;

	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct thread *thread; /* that serves the queue; NULL = none yet */
	struct thread *aside;  /* with jobs that take long, while another one serves the queue */
	unsigned aside_count;
	struct owner own;     /* the first of all owners */
	struct fence *fences; /* that aren't passed, in order */
	uint64_t sequence;    /* of the next job */
	uint64_t clock_ns;    /* what the owner had used whose turn was last */
	unsigned hanging;
	bool closing;
	bool watched;	/* the watchdog is set, or will be */
	unsigned users; /* threads and the owner */
};

/* All with the lock held. */

void queue_init(struct worker *worker);
/* No memory for its owner: it is among the daemon's own. */
void queue_put(struct worker *worker, struct job *job);
/* The next job, which *owner's thread runs from now on; NULL: none may run now. */
struct job *queue_take(struct worker *worker, struct owner **owner);
/* The next one, whoever's and whether or not it may run; NULL: there is none. */
struct job *queue_take_any(struct worker *worker);
/* The owner's job runs no more, after so long. */
void queue_ended(struct worker *worker, struct owner *owner, uint64_t ran_ns);
/* One that was given up has returned. */
void queue_returned(struct worker *worker, struct owner *owner);
/* Posts the jobs as ones that never began, but the patient ones, which stay. */
void queue_refuse_all(struct worker *worker);
bool queue_is_empty(const struct worker *worker);
/* Whether there are jobs of others than that owner that may run now. */
bool queue_has_others(const struct worker *worker, const struct owner *owner);
void queue_free_owners(struct worker *worker);

/* Posts the fences that have nothing more to wait for; on the loop's thread they are asked whether
 * they have waited enough. */
void fences_check(struct worker *worker);
void fences_ask(struct worker *worker);
void fences_free(struct worker *worker);

/* The watchdog looks soon, if nobody has asked it to. */
void worker_watch(struct worker *worker);
