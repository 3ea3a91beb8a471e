/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The user's half of a stack. unwind_user() is the door: it walks from the given registers and
 * pushes frames, leaf first; how it finds a caller is its own affair. For now that is the chain of
 * frame pointers:
 *
 *	fp -> | caller's fp | return address |	... growing towards the root
 *
 * A pair is believed where it lies above the stack pointer, aligned, and above the pair before.
 * Whether a return address lies in executable memory is checked by the daemon, which knows the
 * maps; frames from the first that doesn't are dropped there.
 */
#pragma once

#include "arch.h"
#include "walk.h"

/* Without bpf_loop (before 5.17) the verifier walks each turn of the loop by itself. */
#define BOUNDED_FRAMES 256

/* One caller. True when the walk has ended, with its reason in head.truncated. */
static __always_inline bool frame_pointer_step(struct walk *walk)
{
	struct {
		uint64_t fp, ret;
	} pair;
	uint64_t fp = walk->fp;

	if (fp == 0)
		return true;
	if (fp < walk->sp || (fp & 7)) {
		walk->head.truncated = TRUNCATED_FRAME_POINTER;
		return true;
	}
	if (bpf_probe_read_user(&pair, sizeof(pair), (const void *)fp)) {
		walk->head.truncated = TRUNCATED_MEMORY;
		return true;
	}
	if (pair.ret == 0)
		return true;
	if (!walk_push(walk, FRAME_NATIVE_RETURN, pair.ret)) {
		walk->head.truncated = TRUNCATED_DEPTH;
		return true;
	}
	walk->sp = fp + sizeof(pair);
	walk->fp = pair.fp;
	return false;
}

struct loop_context {
	struct walk *walk;
};

static long loop_step(uint32_t i, struct loop_context *context)
{
	return frame_pointer_step(context->walk);
}

static __always_inline void unwind_user(struct walk *walk, const struct user_regs *regs,
					bool has_loop)
{
	walk_push(walk, FRAME_NATIVE, regs->pc);
	if (!regs->wide) {
		walk->head.truncated = TRUNCATED_FRAME_POINTER;
		return;
	}
	walk->sp = regs->sp;
	walk->fp = regs->fp;
	if (has_loop) {
		struct loop_context context = {walk};

		if (bpf_loop(USER_FRAMES_MAX, loop_step, &context, 0) == USER_FRAMES_MAX)
			walk->head.truncated = TRUNCATED_DEPTH;
		return;
	}
	for (int i = 0; i < BOUNDED_FRAMES; i++) {
		if (frame_pointer_step(walk))
			return;
	}
	walk->head.truncated = TRUNCATED_DEPTH;
}
