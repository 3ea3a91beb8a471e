/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The slot of a time in a histogram. */
#pragma once

#include "bpf/shared/scheduler.h"

/* Returns 0 for 0, n for a value of [2^(n-1), 2^n) below 2^32. */
static inline uint32_t power_slot(uint64_t value)
{
	uint32_t slot = value != 0;

	if (value >> 16) {
		value >>= 16;
		slot += 16;
	}
	if (value >> 8) {
		value >>= 8;
		slot += 8;
	}
	if (value >> 4) {
		value >>= 4;
		slot += 4;
	}
	if (value >> 2) {
		value >>= 2;
		slot += 2;
	}
	return slot + (value >> 1);
}

/* Returns the slot of `ns`: slots are powers of two of microseconds. Not inlined, and to be called
 * right before the result is used: old verifiers forget the bounds of a value that was kept on the
 * stack. */
static __attribute__((noinline)) uint32_t hist_slot(uint64_t ns)
{
	uint64_t us = ns / 1000;

	return us >> (HIST_SLOTS - 2) ? HIST_SLOTS - 1 : power_slot(us);
}

/* Returns the cell of `ns` in a scale. */
static inline uint64_t scaled_cell(const struct hist_scale *scale, uint64_t ns)
{
	uint64_t units = scale->unit_ns ? ns / scale->unit_ns : 0;

	if (!scale->powers)
		return units;
	return power_slot(units >> 32 ? 0xffffffffU : units);
}
