/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hands events over to a program with more walkers. An object is loaded without the walkers of
 * Python's and Java's frames while no target needs them (walks_runtimes, bpf/unwind/unwind_env.h).
 * When the first target does, the daemon loads the object once more, with these walkers and with
 * the same maps and variables, and puts its program into the slot (kernel/walkers.h):
 *
 *	event -> program -> slot empty? the stack without Python and Java, marked (runtime_pending)
 *			 -> slot filled: the other program, which takes the event as a whole
 *
 * The kernel fills the slot by writing one jump, so each event is taken by one of the two. Nothing
 * is attached or detached.
 */
#pragma once

#include "bpf/core/kernel_types.h"

/* Set before loading: false if the object has all walkers, or stands in a slot itself. */
const volatile bool hands_over = false;

/* Defines the slot of a program. Each hook has its own: the kernel compares what programs in a slot
 * are attached to. */
#define HAND_OVER_SLOT(name)                                                                       \
	struct {                                                                                   \
		__uint(type, BPF_MAP_TYPE_PROG_ARRAY);                                             \
		__uint(max_entries, 1);                                                            \
		__uint(key_size, sizeof(uint32_t));                                                \
		__uint(value_size, sizeof(uint32_t));                                              \
	} name SEC(".maps")

/* Goes on in the program in the slot, if there is one. */
static __always_inline void hand_over(void *ctx, void *slot)
{
	if (hands_over)
		bpf_tail_call(ctx, slot, 0);
}
