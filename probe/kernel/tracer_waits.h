/* SPDX-License-Identifier: GPL-2.0-only */
/* The tracer's iterators over waiting threads. Only the tracer's files and kernel/blocked_walk
 * include this. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct bpf_object;
struct tracer;

/* Loads the iterators; `sched` has the records of threads: `in_tasks`, in the tasks' own storage.
 * Negative errno. */
int tracer_waits_load(struct tracer *tracer, const struct bpf_object *sched, bool in_tasks);
void tracer_waits_unload(struct tracer *tracer);

/* The settings of the scheduler's program have changed. */
void tracer_waits_set(struct tracer *tracer);

/* A window's end, in this order: before it ends; when no program runs any more that knows nothing
 * of it. (tracer_swap()) */
void tracer_waits_close(struct tracer *tracer, uint64_t window);
void tracer_waits_flush(struct tracer *tracer);

/*
 * An iterator that takes the stacks of threads that wait and have none, to be run by
 * tracer_iterate() on a worker: it reads their memory, which may hang. -ENOENT: there is nothing to
 * do, or this kernel can't; -errno. The caller's to close.
 */
int tracer_waiting_open(const struct tracer *tracer);

/* Runs an iterator to its end. Any thread. -errno of read(). */
int tracer_iterate(int fd);

/* Threads that waited at the last window's end and had no stack. */
uint64_t tracer_unseen_waits(const struct tracer *tracer);

/* Run time of both iterators; 0 while the kernel's BPF statistics are off. */
uint64_t tracer_waits_time_ns(const struct tracer *tracer);
