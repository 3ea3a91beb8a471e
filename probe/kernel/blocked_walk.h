/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Has the stacks of threads taken that wait and have none: those that left their CPU before anybody
 * looked (bpf/waiting.bpf.c). On a worker, for it reads their memory; one that hangs is given up,
 * and none begins until it is back.
 */
#pragma once

#include <stdbool.h>

#include "loop/worker.h"
#include "kernel/tracer.h"

struct blocked_walk;

/* -ENOMEM */
int blocked_walk_new(struct blocked_walk **ret, struct loop *loop, struct tracer *tracer,
		     struct worker *worker);
void blocked_walk_free(struct blocked_walk *waiting);

/* Looks, and calls done(arg) on the loop's thread; false: there is nothing to look for, or it can't
 * be done now, and done isn't called. done NULL: nobody is told. */
bool blocked_walk_look(struct blocked_walk *waiting, void (*done)(void *arg), void *arg);

/* Looks soon: processes have been chosen, more may follow. */
void blocked_walk_look_soon(struct blocked_walk *waiting);
