/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the kernel's trigger does, by looking: the sum of all stalls (`total` of a file of
 * /proc/pressure), read now and then, tells how long tasks were stalled within the last window.
 * Between two looks a stall counts as spread evenly, as in the kernel (kernel/sched/psi.c,
 * window_update()). Pure functions; one thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PRESSURE_LOOKS_MAX 16 /* kept: a window of 10 s has 10 seconds, and the look before it */

struct pressure_total {
	uint64_t window_ns;
	uint32_t stall_us;
	size_t count;
	struct pressure_look {
		uint64_t at_ns, total_us;
	} looks[PRESSURE_LOOKS_MAX]; /* the oldest one first */
};

void pressure_total_begin(struct pressure_total *total, uint32_t stall_us, uint32_t window_us);

/*
 * Adds a look. Returns whether tasks were stalled for stall_us or more within the window that ends
 * with it; what was before the first look doesn't count.
 */
bool pressure_total_add(struct pressure_total *total, uint64_t at_ns, uint64_t total_us);

/* Returns by how much the sum has grown since the last look, us. */
uint64_t pressure_total_growth(const struct pressure_total *total, uint64_t total_us);

/*
 * Reads the sum out of the text of a file, of the line "full" or "some". Returns 0, or -ENOENT: the
 * text has no such line.
 */
int pressure_total_read(const char *text, bool full, uint64_t *total_us);
