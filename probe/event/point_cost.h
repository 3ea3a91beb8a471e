/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a hit of a point in code costs by itself, on this machine: the trap, the way to a program
 * that does nothing, and the instruction in whose place the trap is. Measured at two functions of
 * our own: the kernel emulates the first instruction of one of them (Linux's
 * arch/x86/kernel/uprobes.c) and has to single-step that of the other, which takes several times as
 * long.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* ns of a hit; [1]: of an instruction that is stepped. */
struct point_costs {
	uint64_t entry_ns[2];
	uint64_t both_ns[2]; /* with the return of the function */
};

/*
 * What is charged until the costs are measured, and where they can't be: the upper ends of what
 * machines with Linux 6.1 to 6.18 took (doc/event.md).
 */
#define POINT_COSTS_ASSUMED                                                                        \
	{                                                                                          \
		.entry_ns = {1000, 5000}, .both_ns = { 2000, 6000 }                                \
	}

/*
 * Measures the costs of entries, or of both ends of a call, into costs_ns[2].
 * `session`: struct call_programs. The least of some batches counts, so others on the CPU don't
 * matter. Takes 50 to 100 ms, most of it for taking the points off. Any thread, one at a time; only
 * where uretprobes_are_safe(). Returns 0; or a negative errno, and costs_ns is untouched.
 */
int point_cost_measure(bool session, bool both, uint64_t *costs_ns);
