/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The slot of a time in a histogram. */
#pragma once

#include "bpf/shared/scheduler.h"

/* Returns the slot of `ns`: slots are powers of two of microseconds. Not inlined, and to be called
 * right before the result is used: old verifiers forget the bounds of a value that was kept on the
 * stack. */
static __attribute__((noinline)) uint32_t hist_slot(uint64_t ns)
{
	uint64_t us = ns / 1000;
	uint32_t slot = us != 0;

	if (us >> (HIST_SLOTS - 2))
		return HIST_SLOTS - 1;
	if (us >> 16) {
		us >>= 16;
		slot += 16;
	}
	if (us >> 8) {
		us >>= 8;
		slot += 8;
	}
	if (us >> 4) {
		us >>= 4;
		slot += 4;
	}
	if (us >> 2) {
		us >>= 2;
		slot += 2;
	}
	return slot + (us >> 1);
}
