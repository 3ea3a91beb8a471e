/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A function on a thread of its own, while its caller does something else and then waits for it.
 * Any thread; the new one has the caller's niceness and blocked signals.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>

struct beside {
	void (*run)(void *arg);
	void *arg;
	/* private */
	pthread_t thread;
	bool begun;
};

/* Begins run(arg). Without a thread it runs at once, before this returns. */
void beside_begin(struct beside *beside);

/* Waits until run() has returned. */
void beside_end(struct beside *beside);
