/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of a tree's distinct processes (the owners of stacks): keeps each process once, with
 * what is known of it by now, and gives it a number, from 1. Bounded. One thread at a time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct container;
struct owners;

struct owner {
	pid_t pid;
	uint64_t which;		     /* the start: tells processes with the same pid apart */
	pid_t ns_pid;		     /* pid in its pid namespace; 0: not known; OWNER_SEVERAL */
	struct container *container; /* NULL: none, or not known */
};

#define OWNER_SEVERAL (-1) /* different values were added for one (pid, which) */

/* Makes a table of at most `max` processes. Returns 0, or -ENOMEM. The caller owns *ret. */
int owners_new(struct owners **ret, size_t max);
void owners_free(struct owners *owners);

/* Adds a process if its pid and `which` are new; else updates the rest of what is known of it.
 * Takes its own reference to the container. Returns the process's number, -ENOSPC or -ENOMEM. */
int64_t owners_add(struct owners *owners, const struct owner *owner);

/* Returns a process, borrowed until owners_free(); later calls of owners_add() update it. */
const struct owner *owners_get(const struct owners *owners, uint32_t number);

/* Returns whether a process is in a container, or two processes have the same pid. */
bool owners_matter(const struct owners *owners);

/* Updates the container of a process, *kept, which holds a reference, to `seen` (NULL: no change).
 * *kept stays if both are the same container and *kept has more names. */
void owner_see_container(struct container **kept, struct container *seen);
