/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the program of a probe does at an event; for most one call of probe_take():
 *
 *	is the process a target, of this probe? (one look-up) -> drawn by the guard?
 *	  -> a copy of the target's entry -> the stack, counted (stack.h) -> the time, booked
 *
 * A program that draws its events in another way (by their size) begins at probe_walk(). Events
 * with a begin and an end are in probe_halves.h.
 *
 * `regs` are the registers that were interrupted, of user code or of the kernel. NULL: the current
 * task is in the kernel, at a tracepoint.
 */
#pragma once

#include "bpf/core/guard.h"
#include "bpf/stack/stack.h"

/* Returns the entry of the current process if it is a target of the probe; else NULL. */
static __always_inline const struct target_value *probe_target(uint32_t probe)
{
	uint32_t tgid = bpf_get_current_pid_tgid() >> 32;
	const struct target_value *target = bpf_map_lookup_elem(&targets, &tgid);

	return target_wants(target, probe) ? target : NULL;
}

/* Takes the stack of an event that was drawn, and books the time. The program's pointer into the
 * map is not used over the walk. Returns whether the stack was taken; *key is its key. */
static __always_inline bool probe_walk(void *ctx, uint32_t probe, const struct pt_regs *regs,
				       const struct target_value *target, struct taking *taking,
				       struct stack_key *key)
{
	uint64_t began_ns = bpf_ktime_get_ns();
	struct target_value wanted = *target;
	bool taken = take_stack_as(ctx, regs, &wanted, probe, taking, key);

	taking->until_ns = guard_account(
		probe, taking->events > ~0U ? ~0U : (uint32_t)taking->events, began_ns);
	return taken;
}

/* Takes an event of the current process, if it is to be taken. `taking` has the event's weight, and
 * gets the weight and the number of the events that it stands for. Returns whether the stack was
 * taken; *key is its key. */
static __always_inline bool probe_take_as(void *ctx, uint32_t probe, const struct pt_regs *regs,
					  struct taking *taking, struct stack_key *key)
{
	const struct target_value *target = probe_target(probe);

	if (!target)
		return false;
	taking->events = guard_admits(probe);
	if (!taking->events)
		return false;
	taking->weight *= taking->events;
	return probe_walk(ctx, probe, regs, target, taking, key);
}

/* Counts a stack once more that was taken for `taking->events` events: under another part, with
 * another weight, or with none (where nothing was counted, for the weight was 0). */
static __always_inline void probe_count_again(const struct taking *taking,
					      const struct stack_key *key, uint32_t part,
					      uint64_t weight)
{
	struct count_key counted = {
		.stack = *key, .tid = bpf_get_current_pid_tgid(), .cpu = taking->cpu, .part = part};
	struct stack_count more = {.weight = weight, .samples = 1, .events = taking->events};

	add_count(taking->window, &counted, &more);
}

/* Takes an event of the current process with that weight: 1, or the event's bytes or time. */
static __always_inline void probe_take(void *ctx, uint32_t probe, const struct pt_regs *regs,
				       uint64_t weight)
{
	struct taking taking = {.weight = weight, .part = PART_ALL};
	struct stack_key key;

	probe_take_as(ctx, probe, regs, &taking, &key);
}

/* Like probe_take(), with the stack of user code alone, as at a system call. */
static __always_inline void probe_take_user(void *ctx, uint32_t probe, uint64_t weight)
{
	struct taking taking = {.weight = weight, .part = PART_ALL, .user_only = true};
	struct stack_key key;

	probe_take_as(ctx, probe, NULL, &taking, &key);
}
