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

/* ns. */
struct point_costs {
	uint64_t entry_ns[2]; /* [1]: of an instruction that is stepped */
	uint64_t return_ns;   /* more, if the function's return is probed as well */
};

/* What is charged until the costs are measured, and where they can't be (doc/event.md). */
#define POINT_COSTS_ASSUMED                                                                        \
	{                                                                                          \
		.entry_ns = {1000, 5000}, .return_ns = 1000                                        \
	}

/*
 * Measures the costs of entries, or (`returns`, only where uretprobes_are_safe()) that of returns,
 * for which those of entries are known. `session`: struct call_programs. The least of some batches
 * counts, so others on the CPU don't matter. Takes some 50 to 150 ms, most of it for taking the
 * points off. Any thread, one at a time. Returns 0; or a negative errno, and *costs is untouched.
 */
int point_cost_measure(bool session, bool returns, struct point_costs *costs);
