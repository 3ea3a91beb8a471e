/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The Python half of a stack: python_user() finds the sampled thread's state (python_state.h) and
 * pushes the thread's Python frames, leaf first, as bpf/shared/cpython_layout.h says. The words of
 * the frames are put at walk->words + PYTHON_AT until the stack is sent, and have a hash of their
 * own.
 *
 * Each step first reads, and then changes the walk: a step that can't read its memory yet
 * (bpf/unwind/task_copy.h) is simply done again.
 */
#pragma once

#include "bpf/python/python_state.h"

/* Each frame may have a shim behind it, and each list of threads has an end. */
#define PYTHON_STEPS_MAX   (2 * PYTHON_FRAMES_MAX + PYTHON_THREADS_MAX + 4 * PYTHON_INTERPRETERS_MAX)

#define PYTHON_STEPS	   64 /* steps of one call of python_steps() */
#define PYTHON_RUN	   2  /* frames in one step at most */

#define PYTHON_BLOCK_BYTES (PYTHON_BLOCK_WORDS * 8U)
#define PYTHON_NEAR	   1024U /* bytes between frames of which several are read at once */
#define PYTHON_PAGE	   4096U /* size of the smallest page */

/* From this version on even a thread that runs no Python has a frame. */
#define PYTHON_BASE_FRAME 0x030f0000U

int python_find(uint32_t level);
int python_step(uint32_t level);
int python_steps(uint32_t level);
int python_user(uint32_t level);

/* ---- what is pushed ---- */

/* Pushes the two words of a frame; `entered` 1: the loop was entered for it, so that its caller is
 * known. Returns false if there is no room. */
static __always_inline bool python_push(struct walk *walk, uint32_t entered, uint64_t code,
					uint64_t word)
{
	struct python_walk *python = &walk->python;
	uint32_t n = BOUND(python->words_count);
	uint64_t first =
		frame_word(FRAME_PYTHON + entered * (FRAME_PYTHON_ENTRY - FRAME_PYTHON), code);

	if (n > PYTHON_WORDS_MAX - 2)
		return false;
	walk->words[PYTHON_AT + n] = first;
	walk->words[PYTHON_AT + n + 1] = word;
	python->words_count = n + 2;
	python->last = n;
	python->hash = hash_word(hash_word(python->hash, first), word);
	python->flags = (python->flags | PYTHON_OPEN) - entered * PYTHON_OPEN;
	return true;
}

/* Marks the last frame as the frame for which the loop was entered. */
static __always_inline void python_enter(struct walk *walk)
{
	struct python_walk *python = &walk->python;
	uint32_t last = python->last;

	if (last < PYTHON_WORDS_MAX)
		walk->words[PYTHON_AT + last] += (uint64_t)(FRAME_PYTHON_ENTRY - FRAME_PYTHON)
						 << FRAME_KIND_SHIFT;
	python->hash = hash_word(python->hash, FRAME_PYTHON_ENTRY);
	python->flags &= ~PYTHON_OPEN;
}

/* ---- its frames ---- */

static __always_inline uint64_t python_block_word(const struct walk *walk, uint32_t offset)
{
	return walk->block[offset / 8 & (PYTHON_BLOCK_WORDS - 1)];
}

/* Bit entry * 2 + (the byte at frame_owner isn't 0): the loop was entered for such a frame. */
#define PYTHON_ENTERED                                                                             \
	(3U << CPYTHON_ENTRY_EACH * 2 | 2U << CPYTHON_ENTRY_FLAG * 2 | 0U << CPYTHON_ENTRY_SHIM * 2)

/* Returns 1 if the loop was entered for a frame, else 0: without jumps, of which the verifier would
 * follow each. */
static __always_inline uint32_t python_entered(const struct python_walk *python, uint32_t owner)
{
	return PYTHON_ENTERED >> ((python->at.entry & 3) * 2 + (owner + 255) / 256) & 1;
}

/* Returns the second word of the frame that begins at `at` in the block. python->sum is the sum of
 * its code. */
static __always_inline uint64_t python_frame_word(const struct walk *walk, uint32_t at,
						  uint64_t code)
{
	const struct python_walk *python = &walk->python;
	uint64_t instr = python_block_word(walk, at + python->at.frame_instr);

	instr >>= python->at.frame_instr % 8 * 8; /* an address lies at a multiple of 8 */
	instr -= code & ((uint64_t)python->at.instr_is_int - 1);
	return cpython_frame_word(python->sum, instr);
}

/* Pushes the frame that begins at `at` in the block. Returns PYTHON_ON, or why the walk ends. */
static __always_inline int python_push_frame(struct walk *walk, uint32_t at, uint32_t owner,
					     bool is_shim)
{
	struct python_walk *python = &walk->python;
	uint64_t code = 0, word = 0;
	uint32_t entered = 1;

	if (python->words_count >= PYTHON_WORDS_MAX)
		return PYTHON_DEPTH;
	if (!is_shim) {
		code = python_block_word(walk, at + python->at.frame_code) &
		       ~(uint64_t)python->at.code_tag;
		if (!python_knows(python, code)) {
			int r = python_code(walk->level, code);

			if (r != PYTHON_ON)
				return r;
		}
		word = python_frame_word(walk, at, code);
		entered = python_entered(python, owner);
	}
	__asm__ volatile("" : "+r"(code), "+r"(word), "+r"(entered)); /* else it is pushed twice */
	return python_push(walk, entered, code, word) ? PYTHON_ON : PYTHON_DEPTH;
}

/*
 * Takes the frame that begins at `at` in the block, and goes on to its caller. Returns PYTHON_ON,
 * or why the walk ends.
 *
 * At a shim, a frame on the C stack, the loop was entered. In versions where each thread has such a
 * frame, the oldest one belongs to no loop.
 */
static __always_inline int python_take(struct walk *walk, uint32_t at)
{
	struct python_walk *python = &walk->python;
	uint64_t previous = python_block_word(walk, at + python->at.frame_previous);
	uint32_t owner_at = at + python->at.frame_owner;
	uint32_t owner = (uint8_t)(python_block_word(walk, owner_at) >> owner_at % 8 * 8);
	bool is_shim = python->at.entry == CPYTHON_ENTRY_SHIM && owner >= python->at.shim_owner;

	bool entered = is_shim || (python->at.entry == CPYTHON_ENTRY_FLAG && owner);

	if (python->frame == python->behind ||
	    (python->flags & PYTHON_UNSURE && previous != python->caller && (entered || !previous)))
		return PYTHON_DAMAGED;
	if (is_shim && python->flags & PYTHON_OPEN) {
		python_enter(walk);
	} else if (!is_shim || previous || python->at.version < PYTHON_BASE_FRAME) {
		int r = python_push_frame(walk, at, owner, is_shim);

		if (r != PYTHON_ON)
			return r;
	}
	if (entered)
		python->flags &= ~PYTHON_UNSURE;
	python->frames++; /* a circle of any size is met again */
	if (!(python->frames & (python->frames - 1)))
		python->behind = python->frame;
	python->above = python->frame;
	python->frame = previous;
	if (!previous && python->flags & PYTHON_OPEN)
		python_enter(walk);
	return PYTHON_ON;
}

/* Returns where the current frame begins in the block; PYTHON_BLOCK_BYTES: it isn't in the
 * block. */
static __always_inline uint32_t python_in_block(const struct python_walk *python)
{
	uint64_t at = python->frame - python->block_at;

	return at < python->block_bytes && !(at & 7) ? at : PYTHON_BLOCK_BYTES;
}

/*
 * Reads the current frame. If the frame that it called is near, also reads what lies before the
 * current frame: from 3.11 on the frames of a thread lie side by side in the order of calls, before
 * that often those of a function that recurs. So one read brings several frames. Only the frame's
 * own page is read: that page exists if the frame does.
 */
static __always_inline bool python_fetch(struct walk *walk)
{
	struct python_walk *python = &walk->python;
	uint64_t frame = python->frame, from = frame;
	uint64_t bytes = python->at.frame_words * sizeof(uint64_t);
	uint64_t before = frame & (PYTHON_PAGE - 1);

	if (bytes > PYTHON_BLOCK_BYTES)
		return false;
	python->block_bytes = 0;
	if (python->above - frame < PYTHON_NEAR && !(frame & 7)) {
		if (before > PYTHON_BLOCK_BYTES - bytes)
			before = PYTHON_BLOCK_BYTES - bytes;
		from -= before;
		bytes += before;
	}
	if (bytes > PYTHON_BLOCK_BYTES || read_user(walk->block, bytes, from))
		return false;
	python->block_at = from;
	python->block_bytes = frame - from + 1;
	return true;
}

/* ---- the walk ---- */

/* Looks for the next frame that called no other, the leaf of a thread. Returns PYTHON_ON, or why
 * the walk ends. */
__noinline int python_find(uint32_t level)
{
	struct walk *walk = walk_at(level);

	if (!walk)
		return PYTHON_MEMORY;
	if (!(walk->python.flags & PYTHON_STARTED))
		return python_start(level);
	if (walk->python.state)
		return python_state(level);
	if (walk->python.interpreter)
		return python_interpreter(level);
	return walk->python.words_count ? PYTHON_WHOLE : PYTHON_NONE;
}

/* Drops the frames of the newest loop, which has none yet, and goes on with its caller. */
__noinline int python_drop(uint32_t level)
{
	struct walk *walk = walk_at(level);
	struct python_walk *python;

	if (!walk)
		return PYTHON_MEMORY;
	python = &walk->python;
	python->words_count = python->sure_words;
	python->hash = python->sure_hash;
	python->flags &= ~(PYTHON_UNSURE | PYTHON_OPEN);
	python->frame = python->caller;
	python->frames = python->block_bytes = 0;
	python->behind = python->above = 0;
	return python_push(walk, 1, 0, 0) ? PYTHON_ON : PYTHON_DEPTH;
}

/* Returns why the walk ends; or, if the newest loop may have no frame yet, goes on with its caller.
 * If frames of that loop were read and the next one can't be, the walk ends: it may be a frame. */
static __always_inline int python_failed(struct walk *walk, int why)
{
	const struct python_walk *python = &walk->python;
	bool is_first = python->words_count == python->sure_words;

	if (!(python->flags & PYTHON_UNSURE))
		return why;
	if (why != PYTHON_DAMAGED && !(why == PYTHON_MEMORY && is_first))
		return why;
	return python_drop(walk->level);
}

/*
 * Does a step of the walk: takes the next frames that are in the block, and reads a block if there
 * is none; or looks for a frame. Returns PYTHON_ON, or why the walk ends.
 *
 * A step takes few frames: the verifier walks them one by one.
 */
__noinline int python_step(uint32_t level)
{
	struct walk *walk = walk_at(level);
	struct python_walk *python;

	if (!walk)
		return PYTHON_MEMORY;
	python = &walk->python;
	if (!python->frame)
		return python_find(level);
	if (python_in_block(python) == PYTHON_BLOCK_BYTES && !python_fetch(walk))
		return python_failed(walk, PYTHON_MEMORY);
	for (uint32_t i = 0; i < PYTHON_RUN; i++) {
		uint32_t at = python_in_block(python);
		int r;

		if (at == PYTHON_BLOCK_BYTES)
			break;
		r = python_take(walk, at);
		if (r != PYTHON_ON)
			return python_failed(walk, r);
		if (!python->frame)
			break;
	}
	return PYTHON_ON;
}

/* Does several steps. Two short nested loops are easier for the verifier than one long loop. */
__noinline int python_steps(uint32_t level)
{
	for (uint32_t i = 0; i < PYTHON_STEPS; i++) {
		int r = python_step(level);

		if (r != PYTHON_ON)
			return r;
	}
	return PYTHON_ON;
}

/* Walks the thread's Python frames. A global function, so the verifier checks it once. */
__noinline int python_user(uint32_t level)
{
	struct walk *walk = walk_at(level);
	int r = PYTHON_ON;

	if (!walk || !python_begin(level))
		return 0;
	for (uint32_t i = 0; i < PYTHON_STEPS_MAX / PYTHON_STEPS; i++) {
		r = python_steps(level);
		if (r != PYTHON_ON)
			break;
	}
	walk->head.python = r == PYTHON_ON ? PYTHON_SEARCHED : r;
#ifdef COPIES_CODE
	if (walk->python.flags & PYTHON_UNSEEN)
		python_copies(level);
#endif
	return 0;
}
