/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loads BPF objects ahead, on a worker: the kernel's verifier takes most of the time of a start,
 * and on a busy host seconds. The loop attaches them later, in the start that needs them; a start
 * finds them there, or loads by itself what is missing.
 *
 *	tracer_preload() -> a job loads what is missing -> done() -> the start takes it
 * (tracer_take())
 *
 * What nobody takes is unloaded after some seconds, or when the tracer stops. Loop thread only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct loadable;
struct tracer;
struct worker;

/*
 * Has objects loaded by this worker, from now on. The worker must have ended before tracer_free().
 * Returns 0 or -ENOMEM.
 */
int tracer_load_ahead(struct tracer *tracer, struct worker *worker);

/*
 * Loads what is missing of these lists, in their order (NULL ends each), and calls done(arg) when
 * that has ended. What can't be loaded is missing then: the start that needs it says why. Returns
 * false, without a call of done(), if nothing is missing, or nothing can be loaded ahead.
 */
bool tracer_preload(struct tracer *tracer, const struct loadable *const *const lists[],
		    size_t lists_count, void (*done)(void *arg), void *arg);

/* Drops the waits with this `arg`: done() isn't called. */
void tracer_preload_forget(struct tracer *tracer, const void *arg);
