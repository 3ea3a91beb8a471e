/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads and sets the capability sets of the calling thread, by the kernel's system calls alone, so
 * that the forked child of a process with threads may use these functions too. A capability's bit
 * is `UINT64_C(1) << number`, numbers as in capabilities(7).
 */
#pragma once

#include <stdint.h>

struct capset {
	uint64_t permitted, effective, inheritable;
};

/* Read and set the three sets. Return 0, or a negative errno. */
int capset_get(struct capset *set);
int capset_put(const struct capset *set);

/* Clears all sets of the thread, the ambient set too: a change of user takes root's capabilities
 * away, but not those of another user's ambient set. Returns 0, or a negative errno. */
int capset_clear(void);
