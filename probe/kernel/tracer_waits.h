/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Iterators over blocked threads: one shows waits that go on at a window's end, one takes the
 * stacks that are missing. Private to the tracer's files and kernel/blocked_walk. Loop thread only,
 * but for tracer_iterate().
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct loadable;
struct tracer;

extern const struct loadable loadable_flush, loadable_waiting;

/*
 * Loads the iterators; tracer->sched_object, with the threads' records, is loaded.
 * Returns 0 or a negative errno; a kernel without sleepable iterators (before 5.18) can't take
 * missing stacks, which is no error.
 */
int tracer_waits_load(struct tracer *tracer);
void tracer_waits_unload(struct tracer *tracer);

/* Passes on tracer->settings after a change. */
void tracer_waits_set(struct tracer *tracer);

/*
 * For tracer_swap(), at a window's end, in this order: tracer_waits_close() before the window ends;
 * tracer_waits_show() when no program runs any more that doesn't know of the end; tracer_iterate()
 * on a worker; tracer_waits_shown(), with its result.
 *
 * tracer_waits_show() returns a descriptor, which the caller closes; -ENOENT if there is nothing to
 * be shown; or another negative errno, for tracer_waits_shown().
 */
void tracer_waits_close(struct tracer *tracer, uint64_t window);
int tracer_waits_show(struct tracer *tracer);
void tracer_waits_shown(struct tracer *tracer, int error);

/*
 * Opens an iterator that takes the stacks of blocked threads that have none, for tracer_iterate()
 * on a worker: it reads their memory, which may hang. Returns a descriptor, which the caller
 * closes; -ENOENT if there is nothing to do or the kernel can't; another negative errno.
 */
int tracer_waiting_open(const struct tracer *tracer);

/* Runs an iterator to its end. Any thread. Returns 0 or the negative errno of read(). */
int tracer_iterate(int fd);

/* Returns how many threads were blocked without a stack at the last window's end. */
uint64_t tracer_unseen_waits(const struct tracer *tracer);
