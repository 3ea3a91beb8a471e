// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A thread serves the queue as long as worker->thread points to it. A thread whose job takes long
 * is put aside and ends with its job. If a job hangs, the watchdog (a timer of the loop) takes its
 * thread out of worker->thread or worker->aside; when run() returns at last, the thread sees that
 * it was replaced, frees its job and ends. The struct worker lives until the last such thread ends.
 */
#include "loop/worker.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "base/cleanup.h"
#include "loop/worker_state.h"

#define STACK_BYTES (8 * 1024 * 1024) /* libiberty prints by deep recursion; virtual only */
#define WATCH_NS    (50 * NS_PER_MS)  /* the watchdog runs at least that often */
/* A job that was given up hangs if it used less CPU time than COMPUTED_NS and than that part of its
 * time; else it was computing. The part is small: on a busy machine a job may get little CPU. */
#define COMPUTED_NS   (300 * NS_PER_MS)
#define COMPUTED_PART 8

static void worker_unref(struct worker *worker)
{
	pthread_mutex_lock(&worker->lock);
	unsigned left = --worker->users;
	pthread_mutex_unlock(&worker->lock);
	if (left)
		return;
	queue_free_owners(worker);
	pthread_cond_destroy(&worker->changed);
	pthread_mutex_destroy(&worker->lock);
	free(worker);
}

static void tell_end(struct job *job, bool finished)
{
	if (job->done)
		job->done(job, finished);
}

static void report_job(void *arg)
{
	struct job *job = arg;

	tell_end(job, job->end == JOB_FINISHED);
	if (job->free)
		job->free(job);
}

static uint64_t cpu_ns(pthread_t id)
{
	struct timespec now;
	clockid_t clock;

	if (pthread_getcpuclockid(id, &clock) || clock_gettime(clock, &now) < 0)
		return 0;
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* ---- with the lock held ---- */

static void take_out_of_aside(struct worker *worker, struct thread *thread)
{
	for (struct thread **link = &worker->aside; *link; link = &(*link)->next) {
		if (*link != thread)
			continue;
		*link = thread->next;
		worker->aside_count--;
		return;
	}
}

/* Frees a job that was given up and has returned at last. */
static void return_late(struct worker *worker, const struct thread *self, struct job *job)
{
	while (!self->reported)
		pthread_cond_wait(&worker->changed, &worker->lock);
	worker->hanging--;
	queue_returned(worker, self->owner);
	pthread_mutex_unlock(&worker->lock); /* free() may submit a job: closing a file */
	if (job->free)
		job->free(job);
	pthread_mutex_lock(&worker->lock);
}

/* Runs a job; releases the lock meanwhile. */
static void run_one(struct worker *worker, struct thread *self, struct job *job)
{
	self->job = job;
	self->owner->running = self;
	self->started_ns = loop_now_ns();
	self->started_cpu_ns = cpu_ns(pthread_self());
	pthread_mutex_unlock(&worker->lock);

	job->run(job);

	pthread_mutex_lock(&worker->lock);
	self->job = NULL;
	pthread_cond_broadcast(&worker->changed);
	if (self->hangs) {
		return_late(worker, self, job);
		return;
	}
	take_out_of_aside(worker, self);
	job->end = JOB_FINISHED;
	loop_post(worker->loop, &job->call); /* before a fence that waits for the job */
	queue_ended(worker, self->owner, loop_now_ns() - self->started_ns);
}

static void *serve_jobs(void *arg)
{
	struct thread *self = arg;
	struct worker *worker = self->worker;

	/* Sets this thread's value; a failure changes nothing. */
	setpriority(PRIO_PROCESS, 0, loop_nice(worker->loop) + worker->nice);
	pthread_mutex_lock(&worker->lock);
	while (worker->thread == self && !worker->closing) {
		struct job *job = queue_take(worker, &self->owner);

		if (job)
			run_one(worker, self, job);
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

static bool has_room(const struct worker *worker)
{
	return worker->hanging + worker->aside_count < WORKER_HANGING_MAX;
}

static int start_thread(struct worker *worker)
{
	_cleanup_free_ struct thread *thread = calloc(1, sizeof(*thread));
	pthread_attr_t attributes;
	sigset_t all, before;
	pthread_t id;

	if (!has_room(worker))
		return -EAGAIN;
	if (!thread)
		return -ENOMEM;
	thread->worker = worker;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are the loop's */
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	int r = pthread_create(&id, &attributes, serve_jobs, thread);
	pthread_attr_destroy(&attributes);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r)
		return -r;
	pthread_setname_np(id, worker->name);
	thread->id = id;
	worker->users++;
	worker->thread = TAKE_PTR(thread);
	return 0;
}

static void need_thread(struct worker *worker)
{
	if (!worker->thread && start_thread(worker) < 0 && !worker->aside)
		queue_refuse_all(worker); /* there is no thread to run jobs */
}

static bool has_computed(const struct thread *thread)
{
	uint64_t least_ns = (loop_now_ns() - thread->started_ns) / COMPUTED_PART;

	if (least_ns > COMPUTED_NS)
		least_ns = COMPUTED_NS;
	return cpu_ns(thread->id) - thread->started_cpu_ns > least_ns;
}

/* Gives up the job of `thread`; releases the lock while done() runs. */
static void give_up(struct worker *worker, struct thread *thread)
{
	struct job *job = thread->job;

	job->end = has_computed(thread) ? JOB_SLOW : JOB_HANGS;
	thread->hangs = true;
	thread->owner->hanging++;
	worker->hanging++;
	worker->given_up++;
	if (worker->thread == thread)
		worker->thread = NULL;
	else
		take_out_of_aside(worker, thread);
	queue_ended(worker, thread->owner, loop_now_ns() - thread->started_ns);
	need_thread(worker);
	pthread_cond_broadcast(&worker->changed); /* the owner's next job may run */
	/* The loop calls done() but not free(): the hanging thread owns the job from now on. */
	pthread_mutex_unlock(&worker->lock);
	tell_end(job, false);
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

static struct thread *find_late(const struct worker *worker)
{
	struct thread *thread = worker->thread;

	if (thread && thread->job && is_late(worker, thread))
		return thread;
	for (thread = worker->aside; thread; thread = thread->next) {
		if (is_late(worker, thread))
			return thread;
	}
	return NULL;
}

/* Puts a thread aside whose job takes long while jobs of other owners wait. */
static void put_aside(struct worker *worker)
{
	struct thread *thread = worker->thread;

	if (!thread || !thread->job || !thread->job->whose ||
	    loop_now_ns() - thread->started_ns < WORKER_ASIDE_NS ||
	    !queue_has_others(worker, thread->owner))
		return;
	worker->thread = NULL;
	if (start_thread(worker) < 0) {
		worker->thread = thread;
		return;
	}
	thread->next = worker->aside;
	worker->aside = thread;
	worker->aside_count++;
}

static void watch_jobs(void *arg)
{
	struct worker *worker = arg;
	struct thread *late;

	pthread_mutex_lock(&worker->lock);
	while ((late = find_late(worker)))
		give_up(worker, late);
	put_aside(worker);
	if (!queue_is_empty(worker))
		need_thread(worker);
	fences_ask(worker);
	worker->watched = !queue_is_empty(worker) || worker->aside || worker->fences ||
			  (worker->thread && worker->thread->job);
	uint64_t wait_ns = worker->limit_ns / 4 < WATCH_NS ? worker->limit_ns / 4 : WATCH_NS;
	if (worker->watched)
		loop_timer_set(worker->loop, &worker->watchdog, loop_now_ns() + wait_ns);
	pthread_mutex_unlock(&worker->lock);
}

void worker_watch(struct worker *worker)
{
	if (!worker->watched)
		loop_post(worker->loop, &worker->begin_watch);
	worker->watched = true;
}

/* ---- the worker ---- */

int worker_new(struct worker **ret, struct loop *loop, const char *name, uint64_t limit_ns)
{
	struct worker *worker = calloc(1, sizeof(*worker));
	pthread_condattr_t attributes;

	if (!worker)
		return -ENOMEM;
	worker->loop = loop;
	worker->name = name;
	worker->limit_ns = limit_ns;
	worker->watchdog = (struct loop_timer){.expired = watch_jobs, .arg = worker, .name = name};
	worker->begin_watch = (struct loop_call){.run = watch_jobs, .arg = worker, .name = name};
	pthread_mutex_init(&worker->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC); /* CLOCK_REALTIME may be set */
	pthread_cond_init(&worker->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	queue_init(worker);
	worker->users = 1;
	*ret = worker;
	return 0;
}

void worker_set_nice(struct worker *worker, int nice)
{
	worker->nice = nice;
}

static uint64_t end_of(const struct worker *worker, const struct thread *thread)
{
	return thread->job ? thread->started_ns + worker->limit_ns : 0;
}

/* Returns until when worker_stop() waits for running jobs. */
static struct timespec last_end(const struct worker *worker)
{
	uint64_t end_ns = loop_now_ns();

	if (worker->thread && end_of(worker, worker->thread) > end_ns)
		end_ns = end_of(worker, worker->thread);
	for (const struct thread *thread = worker->aside; thread; thread = thread->next) {
		if (end_of(worker, thread) > end_ns)
			end_ns = end_of(worker, thread);
	}
	end_ns += NS_PER_S;
	return (struct timespec){.tv_sec = (time_t)(end_ns / NS_PER_S),
				 .tv_nsec = (long)(end_ns % NS_PER_S)};
}

/* Marks a thread as hanging, so that it doesn't call back into a loop that is gone. */
static void abandon_thread(struct worker *worker, struct thread *thread)
{
	if (!thread->job)
		return;
	thread->hangs = thread->reported = true;
	thread->owner->hanging++;
	thread->owner->running = NULL;
	worker->hanging++;
}

void worker_stop(struct worker *worker)
{
	struct job *job;
	int r = 0;

	if (!worker)
		return;
	pthread_mutex_lock(&worker->lock);
	worker->closing = true;
	pthread_mutex_unlock(&worker->lock);
	/* From here on nothing is posted. */
	loop_timer_cancel(worker->loop, &worker->watchdog);
	loop_unpost(worker->loop, &worker->begin_watch);
	/* Nor does a thread take a job from the queue or add one. */
	pthread_mutex_lock(&worker->lock);
	fences_free(worker);
	while ((job = queue_take_any(worker))) {
		pthread_mutex_unlock(&worker->lock); /* free() may submit another job */
		if (job->free)
			job->free(job);
		pthread_mutex_lock(&worker->lock);
	}
	pthread_cond_broadcast(&worker->changed);
	struct timespec until = last_end(worker);
	while ((worker->thread || worker->aside) && r == 0) {
		if (worker->thread && worker->thread->job && worker->thread->job->unlimited)
			pthread_cond_wait(&worker->changed, &worker->lock);
		else
			r = pthread_cond_timedwait(&worker->changed, &worker->lock, &until);
	}
	if (worker->thread)
		abandon_thread(worker, worker->thread);
	for (struct thread *thread = worker->aside; thread; thread = thread->next)
		abandon_thread(worker, thread);
	worker->thread = worker->aside = NULL;
	pthread_mutex_unlock(&worker->lock);
}

void worker_free(struct worker *worker)
{
	if (worker)
		worker_unref(worker);
}

struct worker *worker_ref(struct worker *worker)
{
	if (worker) {
		pthread_mutex_lock(&worker->lock);
		worker->users++;
		pthread_mutex_unlock(&worker->lock);
	}
	return worker;
}

void worker_submit(struct worker *worker, struct job *job)
{
	job->worker = worker;
	job->next = NULL;
	job->call = (struct loop_call){.run = report_job, .arg = job, .name = worker->name};
	pthread_mutex_lock(&worker->lock);
	if (worker->closing) {
		pthread_mutex_unlock(&worker->lock);
		if (job->free)
			job->free(job);
		return;
	}
	queue_put(worker, job);
	need_thread(worker);
	pthread_cond_broadcast(&worker->changed);
	worker_watch(worker);
	pthread_mutex_unlock(&worker->lock);
}

uint64_t worker_given_up(const struct worker *worker)
{
	return worker->given_up;
}

uint64_t worker_refused(const struct worker *worker)
{
	return __atomic_load_n(&worker->refused, __ATOMIC_RELAXED);
}

void worker_count_refused(struct worker *worker)
{
	__atomic_add_fetch(&worker->refused, 1, __ATOMIC_RELAXED);
}
