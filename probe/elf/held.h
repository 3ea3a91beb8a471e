/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How many of the targets' files are held open: so many that the daemon itself never runs out of
 * descriptors (RLIMIT_NOFILE). Who keeps one takes a place first and gives it back when he closes
 * it. From any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "loop/worker.h"

/* False: there is none left. */
bool held_take(void);
void held_give(void);
/* All of them, or none. */
bool held_take_many(unsigned count);
void held_give_many(unsigned count);

/* Whether few are left, so that some should be given back. */
bool held_are_scarce(void);
size_t held_max(void);

/* A file that is held open, by all who use it: closed when the last one lets go. */
struct held {
	_Atomic unsigned refs;
	int fd;
	struct worker *worker; /* that closes it, which can hang */
	uint64_t whose;	       /* as a job's */
};

/* *fd: it, with its place; both are taken over (*fd becomes -1). NULL: no memory. */
struct held *held_new(int *fd, struct worker *worker, uint64_t whose);
struct held *held_ref(struct held *held);
void held_unref(struct held *held);
