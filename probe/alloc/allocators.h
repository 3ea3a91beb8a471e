/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Probe points of the allocators that targets have mapped. A file has one set of points, shared by
 * all targets of the probe mem_glibc that map it and attached while there is one. Loop thread only;
 * reading files and attaching are jobs of the urgent worker.
 */
#pragma once

#include "loop/loop.h"
#include "loop/worker.h"
#include "alloc/allocator_view.h"
#include "target/target.h"
#include "hooks/tracer_memory.h"

struct allocators;

/* Creates it, stopped; the caller owns *ret. Returns 0 or -ENOMEM. */
int allocators_new(struct allocators **ret, struct loop *loop, struct worker *urgent,
		   struct tracer *tracer, struct targets *targets);

/* Frees it, detaching all points at once. The worker must be stopped. */
void allocators_free(struct allocators *allocators);

/* Starts to attach points where targets want them. tracer_calls() must have loaded the programs. */
void allocators_start(struct allocators *allocators);

/*
 * Stops, and detaches all points. Calls stopped(arg) when that is done, later or at once, unless
 * allocators_start() comes first.
 */
void allocators_stop(struct allocators *allocators, void (*stopped)(void *arg), void *arg);

/* Tells that targets came, went or changed their mappings: they are looked at soon. */
void allocators_refresh(struct allocators *allocators);

/* Tells that the choice of targets changed. */
void allocators_reselect(struct allocators *allocators);

/*
 * Returns whether some target's files are being looked at for the first time, so that its first
 * allocations aren't seen yet.
 */
bool allocators_are_arming(const struct allocators *allocators);

/* Fills in what is known of the target's allocator. */
void allocators_of(const struct allocators *allocators, const struct target *target,
		   struct allocator_view *view);

void allocators_stats(const struct allocators *allocators, struct allocators_stats *stats);
