/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Waits until tasks are stalled for so long (struct pressure_text): by the kernel's own trigger
 * where that is allowed, which is checked against the sum of all stalls; else by a look at that sum
 * each second (each window, if that is shorter). Loop thread only.
 *
 *	armed --stalled for that long--> risen(), and goes on
 *	armed --its cgroup is removed--> ended(): nothing is told any more
 */
#pragma once

#include "base/why.h"
#include "loop/loop.h"
#include "pressure/pressure_text.h"

struct pressure;

struct pressure_wish {
	struct pressure_text text;
	/* Called when tasks were stalled for that long, at most once in a window. It may close. */
	void (*risen)(void *arg);
	/* Called once if the waiting has ended, with a sentence, borrowed. It may close. */
	void (*ended)(void *arg, int error, const struct why *why);
	void *arg;
};

/*
 * Begins to wait; the caller owns *ret. Returns 0, or a negative errno and a sentence in `why`:
 * -EOPNOTSUPP: this kernel doesn't measure that; -ENOENT: there is no such cgroup; others.
 */
int pressure_open(struct pressure **ret, struct loop *loop, const struct pressure_wish *wish,
		  struct why *why);
void pressure_close(struct pressure *pressure);

/* Returns whether the kernel tells; else *why is why it doesn't, some words, borrowed. */
bool pressure_is_kernels(const struct pressure *pressure, const char **why);
