/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Takes the stacks of blocked threads that have none yet: those that left their CPU before anybody
 * looked (bpf/waiting.bpf.c). Runs the iterator as a job of a worker, for it reads the threads'
 * memory. A job that hangs is given up, and no other one begins until it has returned. Loop thread
 * only.
 */
#pragma once

#include <stdbool.h>

#include "loop/worker.h"
#include "kernel/tracer.h"

struct blocked_walk;

/* Creates it; the caller owns *ret. `worker` runs the jobs. Returns 0 or -ENOMEM. */
int blocked_walk_new(struct blocked_walk **ret, struct loop *loop, struct tracer *tracer,
		     struct worker *worker);
void blocked_walk_free(struct blocked_walk *waiting);

/*
 * Starts a walk, and calls done(arg) when it has ended or was given up; `done` may be NULL. A walk
 * under way without a `done` gets this one. Returns false, without a call of done(), if there is
 * nothing to walk or a walk can't start now.
 */
bool blocked_walk_look(struct blocked_walk *waiting, void (*done)(void *arg), void *arg);

/* Starts a walk soon; for when processes were chosen and more may follow. */
void blocked_walk_look_soon(struct blocked_walk *waiting);
