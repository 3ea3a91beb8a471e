/* SPDX-License-Identifier: GPL-2.0-only */
/* Whose the stacks below a tree's frames are: its processes, each once, known by a number from 1,
 * with what is known of them by now. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct container;
struct owners;

struct owner {
	pid_t pid;
	uint64_t which;		     /* tells it from another one with its pid: when it began */
	pid_t ns_pid;		     /* in its own pid namespace; 0: not known; OWNER_SEVERAL */
	struct container *container; /* NULL: it is in none, or that isn't known */
};

#define OWNER_SEVERAL (-1) /* they differ, of those that are one here */

/* -ENOMEM */
int owners_new(struct owners **ret, size_t max);
void owners_free(struct owners *owners);

/* The number of the one with its pid and `which`, which learns the rest. -ENOSPC, -ENOMEM */
int64_t owners_add(struct owners *owners, const struct owner *owner);

/* Valid until owners_free(), and follows what is learned. */
const struct owner *owners_get(const struct owners *owners, uint32_t number);

/* One of them is in a container, or two have one pid. */
bool owners_matter(const struct owners *owners);

/* The container of one process, seen again: *kept is a reference, and is replaced unless it is the
 * same one with more of its names. */
void owner_see_container(struct container **kept, struct container *seen);
