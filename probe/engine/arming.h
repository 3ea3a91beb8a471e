/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Waits until the chosen processes are sampled, that is, have their unwind tables. Loop thread
 * only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/clock.h"
#include "loop/loop.h"

#define ARMING_WAITS_MAX 64
#define ARMING_NS	 NS_PER_S /* for which an answer waits */

struct arming {
	struct loop *loop;
	bool (*is_arming)(void *arg); /* returns true while some aren't sampled yet */
	void *arg;
	struct loop_timer timer;
	struct arming_wait {
		void (*done)(void *arg);
		void *arg;
		uint64_t until_ns;
	} waits[ARMING_WAITS_MAX];
	size_t count;
};

/* Prepares *arming. `arg` is borrowed until arming_done(), which drops all waits. */
void arming_init(struct arming *arming, struct loop *loop, bool (*is_arming)(void *arg), void *arg);
void arming_done(struct arming *arming);

/*
 * Calls done(arg) when all are sampled, or after `wait_ns`: later, never inside. Returns false,
 * without a call of done(), if they are sampled already (or too many wait).
 */
bool arming_wait(struct arming *arming, uint64_t wait_ns, void (*done)(void *arg), void *arg);

/* Drops the waits with this `arg`. */
void arming_forget(struct arming *arming, const void *arg);
