// SPDX-License-Identifier: GPL-2.0-only
/*
 * A thread serves the worker as long as worker->thread is it. A job that hangs: the loop's timer
 * clears worker->thread; the hanging thread finds itself replaced when run() returns at last, frees
 * its job and ends. The struct worker lives until the last such thread is gone.
 */
#include "base/worker.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "base/cleanup.h"

#define STACK_BYTES (8 * 1024 * 1024) /* libiberty prints by deep recursion; virtual only */

struct thread {
	struct worker *worker;
	struct job *job;     /* that runs now */
	uint64_t started_ns; /* when it began */
	bool hangs;
	bool reported; /* its owner knows that it hangs */
};

struct worker {
	struct loop *loop;
	char name[16];
	uint64_t limit_ns;
	int priority; /* a nice value; only if it has one */
	bool has_priority;
	struct loop_timer watchdog;
	struct loop_call begin_watch;
	uint64_t given_up;

	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct thread *thread; /* that serves the queue; NULL = none yet */
	struct job *queue, **queue_end;
	unsigned hanging;
	bool closing;
	bool watched;	/* the watchdog is set, or will be */
	unsigned users; /* threads and the owner */
};

static void worker_unref(struct worker *worker)
{
	pthread_mutex_lock(&worker->lock);
	unsigned left = --worker->users;
	pthread_mutex_unlock(&worker->lock);
	if (left)
		return;
	pthread_cond_destroy(&worker->changed);
	pthread_mutex_destroy(&worker->lock);
	free(worker);
}

static void report(void *arg)
{
	struct job *job = arg;

	job->done(job, job->finished);
	if (job->free)
		job->free(job);
}

/* With the lock held; it is let go while the job runs. False: this thread was replaced. */
static bool run_one(struct worker *worker, struct thread *self)
{
	struct job *job = worker->queue;

	worker->queue = job->next;
	if (!worker->queue)
		worker->queue_end = &worker->queue;
	self->job = job;
	self->started_ns = loop_now_ns();
	pthread_mutex_unlock(&worker->lock);

	job->run(job);

	pthread_mutex_lock(&worker->lock);
	self->job = NULL;
	pthread_cond_broadcast(&worker->changed);
	if (self->hangs) {
		while (!self->reported)
			pthread_cond_wait(&worker->changed, &worker->lock);
		worker->hanging--;
		pthread_mutex_unlock(
			&worker->lock); /* what it frees may submit a job: closing a file */
		if (job->free)
			job->free(job);
		pthread_mutex_lock(&worker->lock);
		return false;
	}
	job->finished = true;
	loop_post(worker->loop, &job->call);
	return true;
}

static void *serve(void *arg)
{
	struct thread *self = arg;
	struct worker *worker = self->worker;
	bool mine = true;

	if (worker->has_priority) /* of this thread; if it isn't allowed, it stays as it is */
		setpriority(PRIO_PROCESS, 0, worker->priority);
	pthread_mutex_lock(&worker->lock);
	while (mine && !worker->closing) {
		if (worker->queue)
			mine = run_one(worker, self);
		else
			pthread_cond_wait(&worker->changed, &worker->lock);
	}
	if (worker->thread == self)
		worker->thread = NULL;
	pthread_cond_broadcast(&worker->changed);
	pthread_mutex_unlock(&worker->lock);
	free(self);
	worker_unref(worker);
	return NULL;
}

/* With the lock held. */
static int start_thread(struct worker *worker)
{
	_cleanup_free_ struct thread *thread = calloc(1, sizeof(*thread));
	pthread_attr_t attributes;
	sigset_t all, before;
	pthread_t id;

	if (!thread)
		return -ENOMEM;
	thread->worker = worker;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are the loop's */
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	int r = pthread_create(&id, &attributes, serve, thread);
	pthread_attr_destroy(&attributes);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r)
		return -r;
	pthread_setname_np(id, worker->name);
	worker->users++;
	worker->thread = TAKE_PTR(thread);
	return 0;
}

/* With the lock held: nobody is there to run the queue. */
static void fail_queue(struct worker *worker)
{
	while (worker->queue) {
		struct job *job = worker->queue;

		worker->queue = job->next;
		loop_post(worker->loop, &job->call);
	}
	worker->queue_end = &worker->queue;
}

static void give_up(struct worker *worker)
{
	struct thread *thread = worker->thread;
	struct job *job = thread->job;

	thread->hangs = true;
	worker->thread = NULL;
	worker->hanging++;
	worker->given_up++;
	if (worker->hanging >= WORKER_HANGING_MAX || start_thread(worker) < 0)
		fail_queue(worker);
	/* Only the owner is told; the job's memory is the hanging thread's from now on. */
	pthread_mutex_unlock(&worker->lock);
	job->done(job, false);
	pthread_mutex_lock(&worker->lock);
	thread->reported = true;
	pthread_cond_broadcast(&worker->changed);
}

void job_extend(struct job *job, uint64_t limit_ns)
{
	__atomic_store_n(&job->limit_ns, limit_ns, __ATOMIC_RELAXED);
}

static bool is_late(const struct worker *worker, const struct thread *thread)
{
	uint64_t limit_ns = __atomic_load_n(&thread->job->limit_ns, __ATOMIC_RELAXED);

	if (limit_ns < worker->limit_ns)
		limit_ns = worker->limit_ns;
	return !thread->job->unlimited && loop_now_ns() - thread->started_ns > limit_ns;
}

static void watch(void *arg)
{
	struct worker *worker = arg;

	pthread_mutex_lock(&worker->lock);
	struct thread *thread = worker->thread;
	if (thread && thread->job && is_late(worker, thread))
		give_up(worker);
	worker->watched = worker->queue || (worker->thread && worker->thread->job);
	if (worker->watched)
		loop_timer_set(worker->loop, &worker->watchdog,
			       loop_now_ns() + worker->limit_ns / 4);
	pthread_mutex_unlock(&worker->lock);
}

int worker_new(struct worker **ret, struct loop *loop, const char *name, uint64_t limit_ns)
{
	struct worker *worker = calloc(1, sizeof(*worker));
	pthread_condattr_t attributes;

	if (!worker)
		return -ENOMEM;
	worker->loop = loop;
	snprintf(worker->name, sizeof(worker->name), "%s", name);
	worker->limit_ns = limit_ns;
	worker->watchdog = (struct loop_timer){.expired = watch, .arg = worker};
	worker->begin_watch = (struct loop_call){.run = watch, .arg = worker};
	pthread_mutex_init(&worker->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC); /* the other one may be set */
	pthread_cond_init(&worker->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	worker->queue_end = &worker->queue;
	worker->users = 1;
	*ret = worker;
	return 0;
}

void worker_set_nice(struct worker *worker, int nice)
{
	worker->priority = getpriority(PRIO_PROCESS, 0) + nice;
	worker->has_priority = true;
}

void worker_stop(struct worker *worker)
{
	if (!worker)
		return;
	pthread_mutex_lock(&worker->lock);
	worker->closing = true;
	pthread_mutex_unlock(&worker->lock);
	/* Nothing is posted any more. */
	loop_timer_cancel(worker->loop, &worker->watchdog);
	loop_unpost(worker->loop, &worker->begin_watch);
	/* Nor does anybody take from the queue, or add to it. */
	while (worker->queue) {
		struct job *job = worker->queue;

		worker->queue = job->next;
		if (job->free)
			job->free(job);
	}
	pthread_mutex_lock(&worker->lock);
	pthread_cond_broadcast(&worker->changed);
	struct timespec until;
	uint64_t now_ns = loop_now_ns(), end_ns = now_ns;
	if (worker->thread && worker->thread->job &&
	    worker->thread->started_ns + worker->limit_ns > now_ns)
		end_ns = worker->thread->started_ns + worker->limit_ns;
	end_ns += NS_PER_S;
	until.tv_sec = (time_t)(end_ns / NS_PER_S);
	until.tv_nsec = (long)(end_ns % NS_PER_S);
	int r = 0;
	while (worker->thread && r == 0) {
		if (worker->thread->job && worker->thread->job->unlimited)
			pthread_cond_wait(&worker->changed, &worker->lock);
		else
			r = pthread_cond_timedwait(&worker->changed, &worker->lock, &until);
	}
	if (worker->thread) { /* it hangs, and must not call back into a loop that is gone */
		worker->thread->hangs = worker->thread->reported = true;
		worker->hanging++;
	}
	worker->thread = NULL;
	pthread_mutex_unlock(&worker->lock);
}

void worker_free(struct worker *worker)
{
	if (worker)
		worker_unref(worker);
}

void worker_submit(struct worker *worker, struct job *job)
{
	job->worker = worker;
	job->next = NULL;
	job->finished = false;
	job->call = (struct loop_call){.run = report, .arg = job};
	pthread_mutex_lock(&worker->lock);
	if (worker->closing) {
		pthread_mutex_unlock(&worker->lock);
		if (job->free)
			job->free(job);
		return;
	}
	*worker->queue_end = job;
	worker->queue_end = &job->next;
	if (!worker->thread && (worker->hanging >= WORKER_HANGING_MAX || start_thread(worker) < 0))
		fail_queue(worker);
	pthread_cond_broadcast(&worker->changed);
	if (!worker->watched)
		loop_post(worker->loop, &worker->begin_watch);
	worker->watched = true;
	pthread_mutex_unlock(&worker->lock);
}

struct fence {
	struct job job;
	void (*passed)(void *arg);
	void *arg;
};

static void fence_run(struct job *job)
{
	(void)job;
}

static void fence_done(struct job *job, bool finished)
{
	struct fence *fence = (struct fence *)job;

	(void)finished; /* all before it are done in either case */
	fence->passed(fence->arg);
}

static void fence_free(struct job *job)
{
	free(job);
}

int worker_fence(struct worker *worker, void (*passed)(void *arg), void *arg)
{
	struct fence *fence = calloc(1, sizeof(*fence));

	if (!fence)
		return -ENOMEM;
	fence->job = (struct job){.run = fence_run, .done = fence_done, .free = fence_free};
	fence->passed = passed;
	fence->arg = arg;
	worker_submit(worker, &fence->job);
	return 0;
}

uint64_t worker_given_up(const struct worker *worker)
{
	return worker->given_up;
}
