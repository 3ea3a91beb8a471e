// SPDX-License-Identifier: GPL-2.0-or-later
/* The fair queue of jobs: start-time fair queueing. Each owner has a queue and a clock, used_ns,
 * which shows how much of the worker's time the owner's jobs have used; the owner whose clock shows
 * the least is next. The clock of an owner who was idle is moved up to that of the owner whose job
 * was taken last: idle time is no credit. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "loop/worker_state.h"

void queue_init(struct worker *worker)
{
	worker->own.queue_end = &worker->own.queue;
}

static struct job_owner *find_owner(struct worker *worker, uint64_t whose)
{
	struct job_owner *owner = &worker->own;

	while (owner && owner->whose != whose)
		owner = owner->next;
	return owner;
}

static struct job_owner *add_owner(struct worker *worker, uint64_t whose)
{
	struct job_owner *owner = calloc(1, sizeof(*owner));

	if (!owner)
		return &worker->own;
	owner->whose = whose;
	owner->queue_end = &owner->queue;
	owner->next = worker->own.next;
	worker->own.next = owner;
	return owner;
}

static bool is_idle(const struct job_owner *owner)
{
	return !owner->queue && !owner->running && !owner->hanging;
}

static void forget_idle(struct worker *worker)
{
	for (struct job_owner **link = &worker->own.next; *link;) {
		struct job_owner *owner = *link;

		if (!is_idle(owner)) {
			link = &owner->next;
			continue;
		}
		*link = owner->next;
		free(owner);
	}
}

void queue_put(struct worker *worker, struct job *job)
{
	struct job_owner *owner = find_owner(worker, job->whose);

	if (!owner)
		owner = add_owner(worker, job->whose);
	if (!owner->queue && !owner->running && owner->used_ns < worker->clock_ns)
		owner->used_ns = worker->clock_ns;
	job->sequence = worker->sequence++;
	*owner->queue_end = job;
	owner->queue_end = &job->next;
}

static struct job *take_out(struct job_owner *owner, struct job **link)
{
	struct job *job = *link;

	*link = TAKE_PTR(job->next);
	if (!*link)
		owner->queue_end = link;
	return job;
}

static struct job *pop_job(struct job_owner *owner)
{
	return take_out(owner, &owner->queue);
}

static void refuse_jobs(struct worker *worker, struct job_owner *owner)
{
	for (struct job **link = &owner->queue; *link;) {
		if ((*link)->patient) {
			link = &(*link)->next;
			continue;
		}
		struct job *job = take_out(owner, link);

		worker_count_refused(worker);
		job->end = JOB_REFUSED;
		loop_post(worker->loop, &job->call);
	}
}

void queue_refuse_all(struct worker *worker)
{
	for (struct job_owner *owner = &worker->own; owner; owner = owner->next)
		refuse_jobs(worker, owner);
}

/* Returns whether two owners are the same user, in whatever root folders. User 0 in our root folder
 * is another one than user 0 in containers. */
static bool are_of_one_user(const struct job_owner *a, const struct job_owner *b)
{
	uid_t uid = job_user(a->whose);

	if (uid != job_user(b->whose))
		return false;
	return uid || !(a->whose >> JOB_ROOT_SHIFT) == !(b->whose >> JOB_ROOT_SHIFT);
}

/* Returns whether the user has too many threads that hang or, with `all`, that hang or run. */
static bool has_too_many(const struct worker *worker, const struct job_owner *owner, bool all)
{
	unsigned max =
		job_user(owner->whose) ? WORKER_THREADS_OF_USER_MAX : WORKER_THREADS_OF_ROOT_MAX;
	unsigned count = 0;

	if (worker->hanging + worker->aside_count < max)
		return false;
	for (const struct job_owner *one = worker->own.next; one; one = one->next) {
		if (are_of_one_user(one, owner))
			count += one->hanging + (all && one->running);
	}
	return count >= max;
}

/* Returns whether too many of the owner's jobs hang. The daemon's own jobs have no bound of their
 * own, only WORKER_HANGING_MAX. */
static bool owner_hangs(const struct worker *worker, const struct job_owner *owner)
{
	return owner != &worker->own &&
	       (owner->hanging >= WORKER_HANGING_OF_ONE_MAX || has_too_many(worker, owner, false));
}

static bool may_run(const struct worker *worker, const struct job_owner *owner)
{
	return owner->queue && !owner->running && !owner_hangs(worker, owner) &&
	       (owner == &worker->own || !has_too_many(worker, owner, true));
}

static void refuse_those_of_hanging(struct worker *worker)
{
	for (struct job_owner *owner = worker->own.next; owner; owner = owner->next) {
		if (owner_hangs(worker, owner))
			refuse_jobs(worker, owner);
	}
}

struct job *queue_take(struct worker *worker, struct job_owner **ret)
{
	struct job_owner *next = NULL;

	refuse_those_of_hanging(worker);
	for (struct job_owner *owner = &worker->own; owner; owner = owner->next) {
		if (!may_run(worker, owner))
			continue;
		if (!next || owner->used_ns < next->used_ns ||
		    (owner->used_ns == next->used_ns &&
		     owner->queue->sequence < next->queue->sequence))
			next = owner;
	}
	fences_check(worker);
	if (!next)
		return NULL;
	worker->clock_ns = next->used_ns;
	*ret = next;
	return pop_job(next);
}

struct job *queue_take_any(struct worker *worker)
{
	for (struct job_owner *owner = &worker->own; owner; owner = owner->next) {
		if (owner->queue)
			return pop_job(owner);
	}
	return NULL;
}

void queue_ended(struct worker *worker, struct job_owner *owner, uint64_t ran_ns)
{
	owner->running = NULL;
	owner->used_ns += ran_ns;
	fences_check(worker);
	forget_idle(worker);
}

void queue_returned(struct worker *worker, struct job_owner *owner)
{
	owner->hanging--;
	forget_idle(worker);
}

bool queue_is_empty(const struct worker *worker)
{
	for (const struct job_owner *owner = &worker->own; owner; owner = owner->next) {
		if (owner->queue)
			return false;
	}
	return true;
}

bool queue_has_others(const struct worker *worker, const struct job_owner *mine)
{
	for (const struct job_owner *owner = &worker->own; owner; owner = owner->next) {
		if (owner != mine && may_run(worker, owner))
			return true;
	}
	return false;
}

void queue_free_owners(struct worker *worker)
{
	while (worker->own.next) {
		struct job_owner *owner = worker->own.next;

		worker->own.next = owner->next;
		free(owner);
	}
}

/* ---- fences ---- */

static bool has_before(const struct job_owner *owner, uint64_t sequence)
{
	const struct job *job = owner->queue;

	while (job && job->patient)
		job = job->next;
	return job && job->sequence < sequence;
}

static bool fence_waits(const struct worker *worker, const struct fence *fence)
{
	for (const struct job_owner *owner = &worker->own; owner; owner = owner->next) {
		const struct job *running = owner->running ? owner->running->job : NULL;

		if (has_before(owner, fence->sequence) ||
		    (running && running->sequence < fence->sequence))
			return true;
	}
	return false;
}

static void release_fences(struct worker *worker, bool ask)
{
	for (struct fence **link = &worker->fences; *link;) {
		struct fence *fence = *link;

		if (fence_waits(worker, fence) &&
		    !(ask && fence->enough && fence->enough(fence->arg))) {
			link = &fence->next;
			continue;
		}
		*link = fence->next;
		loop_post(worker->loop, &fence->call);
	}
}

void fences_check(struct worker *worker)
{
	release_fences(worker, false);
}

void fences_ask(struct worker *worker)
{
	release_fences(worker, true);
}

void fences_free(struct worker *worker)
{
	while (worker->fences) {
		struct fence *fence = worker->fences;

		worker->fences = fence->next;
		free(fence);
	}
}

static void pass_fence(void *arg)
{
	_cleanup_free_ struct fence *fence = arg;

	fence->passed(fence->arg);
}

int worker_fence(struct worker *worker, bool (*enough)(void *arg), void (*passed)(void *arg),
		 void *arg)
{
	struct fence *fence = calloc(1, sizeof(*fence)), **end = &worker->fences;

	if (!fence)
		return -ENOMEM;
	*fence = (struct fence){.call = {.run = pass_fence, .arg = fence, .name = worker->name},
				.enough = enough,
				.passed = passed,
				.arg = arg};
	pthread_mutex_lock(&worker->lock);
	fence->sequence = worker->sequence;
	while (*end)
		end = &(*end)->next;
	*end = fence;
	fences_check(worker);
	worker_watch(worker);
	pthread_mutex_unlock(&worker->lock);
	return 0;
}
