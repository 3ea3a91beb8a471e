/* SPDX-License-Identifier: GPL-2.0-only */
/* Who waits until the processes that were chosen are sampled, that is, have their tables. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "loop/loop.h"

#define ARMING_WAITS_MAX 64

struct arming {
	struct loop *loop;
	bool (*is_arming)(void *arg); /* some aren't yet */
	void *arg;
	struct loop_timer timer;
	struct arming_wait {
		void (*done)(void *arg);
		void *arg;
		uint64_t until_ns;
	} waits[ARMING_WAITS_MAX];
	size_t count;
};

void arming_init(struct arming *arming, struct loop *loop, bool (*is_arming)(void *arg), void *arg);
void arming_done(struct arming *arming);

/* Calls done(arg) when all are, or after a second, later, never inside. False: they are already (or
 * too many wait), it isn't called. */
bool arming_wait(struct arming *arming, void (*done)(void *arg), void *arg);

/* Who has this `arg` waits no more. */
void arming_forget(struct arming *arming, const void *arg);
