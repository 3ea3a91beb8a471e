/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The allocators' files that targets have mapped, each with its probe points while a target of
 * PROBE_MEM_GLIBC has it: one set of points a file, shared by all. Files are read and points
 * attached on the urgent worker; the rest on the loop's thread.
 */
#pragma once

#include "loop/loop.h"
#include "loop/worker.h"
#include "alloc/allocator_view.h"
#include "target/target.h"
#include "probes/tracer_memory.h"

struct allocators;

/* -ENOMEM */
int allocators_new(struct allocators **ret, struct loop *loop, struct worker *urgent,
		   struct tracer *tracer, struct targets *targets);

/* Detaches all, here and now; the worker was stopped. */
void allocators_free(struct allocators *allocators);

/* From now on points are attached where targets want them; tracer_calls() has loaded their
 * programs. */
void allocators_start(struct allocators *allocators);

/* Takes them away: when done, later or at once, stopped(arg) is called, unless it was started again
 * before. */
void allocators_stop(struct allocators *allocators, void (*stopped)(void *arg), void *arg);

/* Targets have come, gone, or have other mappings: to be called when the kernel told so. */
void allocators_refresh(struct allocators *allocators);

/* Others were chosen. */
void allocators_reselect(struct allocators *allocators);

/* Whether a target's files are being looked at for the first time: its first allocations aren't
 * seen yet. */
bool allocators_are_arming(const struct allocators *allocators);

/* What is known of a target's. */
void allocators_of(const struct allocators *allocators, const struct target *target,
		   struct allocator_view *view);

void allocators_stats(const struct allocators *allocators, struct allocators_stats *stats);
