/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Queue of PUTs of /flamegraph, handled one after the other. Whether a PUT's folders can be used is
 * checked by a worker (api/request/put_check.h), and its BPF objects are loaded by another one
 * (engine_prepare()); PUTs that come meanwhile wait, as each is read on top of the one before it.
 * Loop thread only.
 */
#pragma once

#include "api/feature/feature.h"

struct puts;

/* Creates a queue; the caller owns *ret. Returns 0, -ENOMEM or an error of starting the worker. */
int puts_new(struct puts **ret, struct loop *loop);

/*
 * End in two halves: puts_stop() stops the checks of folders; puts_free() is for when all results
 * have been reported.
 */
void puts_stop(struct puts *puts);
void puts_free(struct puts *puts);

/*
 * Takes a PUT, as struct feature's put(). Without `ready`, at the start, all is done before it
 * returns.
 */
void puts_take(struct puts *puts, const struct services *services, char *data, size_t bytes,
	       struct answer *answer, void (*ready)(void *arg), void *arg);

/* Withdraws the PUT with that `arg`: it isn't applied, and ready() isn't called. */
void puts_forget(struct puts *puts, const void *arg);
