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

struct waiting;

/* -ENOMEM */
int waiting_new(struct waiting **ret, struct loop *loop, struct tracer *tracer,
		struct worker *worker);
void waiting_free(struct waiting *waiting);

/* Looks, and calls done(arg) on the loop's thread; false: there is nothing to look for, or it can't
 * be done now, and done isn't called. done NULL: nobody is told. */
bool waiting_look(struct waiting *waiting, void (*done)(void *arg), void *arg);

/* Looks soon: processes have been chosen, more may follow. */
void waiting_look_soon(struct waiting *waiting);
