/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The Python half of a stack: python_user() finds the sampled thread's own state (python_state.h)
 * and pushes its frames, leaf first, as bpf/shared/cpython.h says. They are put at walk->words +
 * PYTHON_AT until the stack is sent, and have a hash of their own.
 *
 * Each step reads first and changes the walk then: where it can't read yet (bpf/unwind/copies.h) it
 * is simply done again.
 */
#pragma once

#include "bpf/python/python_state.h"

/* Each frame may have a shim behind it, each list of threads an end. */
#define PYTHON_STEPS_MAX   (2 * PYTHON_FRAMES_MAX + PYTHON_THREADS_MAX + 4 * PYTHON_INTERPRETERS_MAX)

#define PYTHON_STEPS	   64 /* at a time */
#define PYTHON_RUN	   16 /* frames in one step */

#define PYTHON_BLOCK_BYTES (PYTHON_BLOCK_WORDS * 8U)
#define PYTHON_NEAR	   256U	 /* so near are frames of which several are read at once */
#define PYTHON_PAGE	   4096U /* the smallest that there are */

/* What a thread that runs no Python has, is a frame too from then on. */
#define PYTHON_BASE_FRAME 0x030f0000U

int python_frame(uint32_t level);
int python_steps(uint32_t level);
int python_user(uint32_t level);

/* ---- what is pushed ---- */

/* False: there is no room. */
static __always_inline bool python_push(struct walk *walk, enum frame_kind kind, uint64_t code,
					uint64_t word)
{
	struct python_walk *python = &walk->python;
	uint32_t n = python->words_count;
	uint64_t first = frame_word(kind, code);

	if (n > PYTHON_WORDS_MAX - 2)
		return false;
	walk->words[PYTHON_AT + n] = first;
	walk->words[PYTHON_AT + n + 1] = word;
	python->words_count = n + 2;
	python->last = n;
	python->hash = hash_word(hash_word(python->hash, first), word);
	return true;
}

/* The last frame is the one for which the loop was entered. */
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

/* A frame of the C stack: the loop was entered here. The oldest one of a thread is no loop's in
 * versions where each thread has one. */
static __always_inline int python_shim(struct walk *walk, uint64_t previous)
{
	if (walk->python.flags & PYTHON_OPEN)
		python_enter(walk);
	else if ((previous || walk->python.at.version < PYTHON_BASE_FRAME) &&
		 !python_push(walk, FRAME_PYTHON_ENTRY, 0, 0))
		return PYTHON_DEPTH;
	return PYTHON_ON;
}

static __always_inline uint64_t python_block_word(const struct python_walk *python, uint32_t offset)
{
	return python->block[offset / 8 & (PYTHON_BLOCK_WORDS - 1)];
}

/* The frame that begins at `at` in the block. */
static __always_inline int python_push_code(struct walk *walk, uint32_t at, uint32_t owner)
{
	struct python_walk *python = &walk->python;
	uint32_t entry = python->at.entry;
	uint64_t code = python_block_word(python, at + python->at.frame_code) &
			~(uint64_t)python->at.code_tag;
	uint64_t instr = python_block_word(python, at + python->at.frame_instr);
	bool entered = entry == CPYTHON_ENTRY_EACH || (entry == CPYTHON_ENTRY_FLAG && owner);
	int r;

	if (python->at.instr_is_int)
		instr >>= python->at.frame_instr % 8 * 8;
	else
		instr -= code;
	if (python->words_count >= PYTHON_WORDS_MAX)
		return PYTHON_DEPTH;
	if (!python_knows(python, code)) {
		r = python_code(walk->level, code);
		if (r != PYTHON_ON)
			return r;
	}
	python_push(walk, entered ? FRAME_PYTHON_ENTRY : FRAME_PYTHON, code,
		    cpython_frame_word(python->sum, instr));
	python->flags = entered ? python->flags & ~PYTHON_OPEN : python->flags | PYTHON_OPEN;
	return PYTHON_ON;
}

/* The frame that begins at `at` in the block; then the next one is looked at. */
static __always_inline int python_take(struct walk *walk, uint32_t at)
{
	struct python_walk *python = &walk->python;
	uint64_t previous = python_block_word(python, at + python->at.frame_previous);
	uint32_t owner_at = at + python->at.frame_owner;
	uint32_t owner = (uint8_t)(python_block_word(python, owner_at) >> owner_at % 8 * 8);
	int r;

	if (python->frame == python->behind)
		return PYTHON_DAMAGED;
	if (python->at.entry == CPYTHON_ENTRY_SHIM && owner >= python->at.shim_owner)
		r = python_shim(walk, previous);
	else
		r = python_push_code(walk, at, owner);
	if (r != PYTHON_ON)
		return r;
	python->frames++; /* a circle is met again, whatever its size */
	if (!(python->frames & (python->frames - 1)))
		python->behind = python->frame;
	python->above = python->frame;
	python->frame = previous;
	if (!previous && python->flags & PYTHON_OPEN)
		python_enter(walk);
	return PYTHON_ON;
}

/* Where the frame begins in the block; PYTHON_BLOCK_BYTES: it isn't there. */
static __always_inline uint32_t python_in_block(const struct python_walk *python)
{
	uint64_t at = python->frame - python->block_at;

	return at < python->block_bytes && !(at & 7) ? at : PYTHON_BLOCK_BYTES;
}

/*
 * Reads the frame and, where the one above it is near, what lies before it: from 3.11 on a thread's
 * frames lie side by side in the order of calls, which takes one read for several of them. Of the
 * frame's own page only: that is there, if the frame is.
 */
static __always_inline bool python_fetch(struct python_walk *python)
{
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
	if (bytes > PYTHON_BLOCK_BYTES || read_user(python->block, bytes, from))
		return false;
	python->block_at = from;
	python->block_bytes = frame - from + 1;
	return true;
}

/* Goes on over those that are read. */
__noinline int python_frame(uint32_t level)
{
	struct walk *walk = walk_at(level);
	struct python_walk *python;

	if (!walk)
		return PYTHON_MEMORY;
	python = &walk->python;
	if (python_in_block(python) == PYTHON_BLOCK_BYTES && !python_fetch(python))
		return PYTHON_MEMORY;
	for (uint32_t i = 0; i < PYTHON_RUN; i++) {
		uint32_t at = python_in_block(python);
		int r;

		if (at == PYTHON_BLOCK_BYTES || !python->frame)
			break;
		r = python_take(walk, at);
		if (r != PYTHON_ON)
			return r;
	}
	return PYTHON_ON;
}

/* ---- the walk ---- */

/* PYTHON_ON: it goes on; else it ends. (No function of its own: kernels that have but 512 bytes of
 * stack for all that call each other count 32 for each.) */
static __always_inline int python_step(uint32_t level)
{
	struct walk *walk = walk_at(level);

	if (!walk)
		return PYTHON_MEMORY;
	if (!(walk->python.flags & PYTHON_STARTED))
		return python_start(level);
	if (walk->python.frame)
		return python_frame(level);
	if (walk->python.state)
		return python_state(level);
	if (walk->python.interpreter)
		return python_interpreter(level);
	return walk->python.words_count ? PYTHON_WHOLE : PYTHON_NONE;
}

/* Several of them: so the verifier looks at two short loops and not at a long one. */
__noinline int python_steps(uint32_t level)
{
	for (uint32_t i = 0; i < PYTHON_STEPS; i++) {
		int r = python_step(level);

		if (r != PYTHON_ON)
			return r;
	}
	return PYTHON_ON;
}

/* Walks the thread's Python frames. A function of its own, that the verifier looks at once. */
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
