/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Budget of descriptors for the targets' files that are held open, so that the daemon itself never
 * runs out of descriptors (RLIMIT_NOFILE). Take a place before you keep a descriptor, and give the
 * place back when you have closed the descriptor. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "loop/worker.h"

/* Takes a place; returns false if no place is left. */
bool fd_budget_take(void);
void fd_budget_give(void);
/* Takes `count` places, or none: then returns false. */
bool fd_budget_take_many(unsigned count);
void fd_budget_give_many(unsigned count);

/* Returns whether 3 of 4 places are taken, so that some should be given back. */
bool fd_budget_is_scarce(void);
/* Returns the number of places. */
size_t fd_budget_max(void);

/* A shared open file, counted by references: closed when the last reference is dropped. */
struct held_fd {
	_Atomic unsigned refs;
	int fd;
	struct worker *worker; /* closes `fd`, as close() can hang */
	uint64_t whose;	       /* the user, as a job has it (loop/worker.h) */
};

/* Takes over *fd and its place (*fd becomes -1); returns a reference. Returns NULL without memory;
 * then the caller keeps both. */
struct held_fd *held_fd_new(int *fd, struct worker *worker, uint64_t whose);
struct held_fd *held_fd_ref(struct held_fd *held);
void held_fd_unref(struct held_fd *held);
