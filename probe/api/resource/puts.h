/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * PUTs of /flamegraph, one after the other. Whether a PUT's folders can be used is looked at off
 * the loop (api/request/folder_check.h); those that come meanwhile wait, for each is read on top of
 * the one before it.
 */
#pragma once

#include "api/feature/feature.h"

struct puts;

/* -ENOMEM */
int puts_new(struct puts **ret, struct loop *loop);

/* First half of the end: nothing is looked at any more. Second half, when all that was done has
 * been told. */
void puts_stop(struct puts *puts);
void puts_free(struct puts *puts);

/* As struct feature's put(). Without `ready`, at the start, all is done before it returns. */
void puts_take(struct puts *puts, const struct services *services, char *data, size_t bytes,
	       struct answer *answer, void (*ready)(void *arg), void *arg);

/* Who was to be told by ready(arg) has gone: its PUT isn't taken any more. */
void puts_forget(struct puts *puts, const void *arg);
