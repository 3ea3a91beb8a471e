// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernel/blocked_walk.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "kernel/tracer_waits.h"

#define SOON_NS (5 * NS_PER_MS)

/* Shared by the blocked_walk and its jobs, as a job that hangs may outlive it. */
struct walk_shared {
	atomic_uint refs;
	atomic_bool looking; /* one walk at a time: the program has one buffer */
};

struct blocked_walk {
	struct loop *loop;
	struct loop_timer soon;
	struct tracer *tracer;
	struct worker *worker;
	struct walk_shared *shared;
	struct look *current; /* until its job is done or given up */
};

struct look {
	struct job job;
	struct blocked_walk *waiting; /* borrowed until then */
	struct walk_shared *shared;
	int fd; /* the iterator; owned */
	int error;
	void (*done)(void *arg);
	void *arg;
};

static void shared_unref(struct walk_shared *shared)
{
	if (atomic_fetch_sub(&shared->refs, 1) == 1)
		free(shared);
}

static void look_now(void *arg)
{
	blocked_walk_look(arg, NULL, NULL);
}

int blocked_walk_new(struct blocked_walk **ret, struct loop *loop, struct tracer *tracer,
		     struct worker *worker)
{
	struct blocked_walk *waiting = calloc(1, sizeof(*waiting));
	struct walk_shared *shared = calloc(1, sizeof(*shared));

	if (!waiting || !shared) {
		free(waiting);
		free(shared);
		return -ENOMEM;
	}
	atomic_init(&shared->refs, 1);
	*waiting = (struct blocked_walk){
		.loop = loop, .tracer = tracer, .worker = worker, .shared = shared};
	waiting->soon = (struct loop_timer){.expired = look_now, .arg = waiting, .name = "blocked"};
	*ret = waiting;
	return 0;
}

void blocked_walk_free(struct blocked_walk *waiting)
{
	if (!waiting)
		return;
	loop_timer_cancel(waiting->loop, &waiting->soon);
	shared_unref(waiting->shared);
	free(waiting);
}

void blocked_walk_look_soon(struct blocked_walk *waiting)
{
	if (!waiting->soon.active)
		loop_timer_set(waiting->loop, &waiting->soon, loop_now_ns() + SOON_NS);
}

static void look_run(struct job *job)
{
	struct look *look = (struct look *)job;

	look->error = tracer_iterate(look->fd);
}

static void look_done(struct job *job, bool finished)
{
	struct look *look = (struct look *)job;

	look->waiting->current = NULL;
	if (!finished)
		log_warn("threads that wait could not be walked in time: a process's memory can't "
			 "be read");
	else if (look->error < 0)
		log_error("threads that wait can't be walked: %s", strerror(-look->error));
	if (look->done)
		look->done(look->arg);
}

static void look_free(struct job *job)
{
	struct look *look = (struct look *)job;

	close(look->fd);
	atomic_store(&look->shared->looking, false);
	shared_unref(look->shared);
	free(look);
}

bool blocked_walk_look(struct blocked_walk *waiting, void (*done)(void *arg), void *arg)
{
	struct walk_shared *shared = waiting->shared;
	int fd;

	loop_timer_cancel(waiting->loop, &waiting->soon);
	if (waiting->current && !waiting->current->done) {
		waiting->current->done = done;
		waiting->current->arg = arg;
		return true;
	}
	if (atomic_load(&shared->looking))
		return false;
	fd = tracer_waiting_open(waiting->tracer);
	if (fd < 0)
		return false;
	struct look *look = calloc(1, sizeof(*look));
	if (!look) {
		close(fd);
		return false;
	}
	*look = (struct look){.job = {.run = look_run, .done = look_done, .free = look_free},
			      .waiting = waiting,
			      .shared = shared,
			      .fd = fd,
			      .done = done,
			      .arg = arg};
	atomic_store(&shared->looking, true);
	atomic_fetch_add(&shared->refs, 1);
	waiting->current = look;
	worker_submit(waiting->worker, &look->job);
	return true;
}
