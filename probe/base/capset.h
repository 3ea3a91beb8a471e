/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The capability sets of the calling thread, by the kernel's own calls, so also for the forked
 * child of a process with threads. A bit is `UINT64_C(1) << number` of capabilities(7).
 */
#pragma once

#include <stdint.h>

struct capset {
	uint64_t permitted, effective, inheritable;
};

/* Negative errno. */
int capset_get(struct capset *set);
int capset_put(const struct capset *set);

/* Leaves the thread none at all, whoever's it is: root's go with another user, those of the ambient
 * set do not. Negative errno. */
int capset_clear(void);
