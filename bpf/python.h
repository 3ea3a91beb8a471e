/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The Python half of a stack: python_user() finds the sampled thread's own state and pushes its
 * frames, leaf first, by the offsets of bpf/cpython.h:
 *
 *	runtime -> interpreters -> threads, the one whose thread_id is the TLS register
 *		-> frame -> frame -> ...
 *
 * They are put at walk->words + PYTHON_AT until the stack is sent, and have a hash of their own.
 *
 * A thread's state is remembered in its memo (bpf/memo.h), and is its own for as long as it has its
 * thread_id; where it has no frame the list is searched again, for the thread may have another one
 * by now. Where there are several interpreters all states of the thread that have frames follow
 * each other, the newest first.
 *
 * Each step reads first and changes the walk then: where it can't read yet (bpf/copies.h) it is
 * simply done again.
 */
#pragma once

#include "python_code.h"

#define PYTHON_INTERPRETERS_MAX 64
#define PYTHON_THREADS_MAX	1024

/* Each frame may have a shim behind it, each search an end. */
#define PYTHON_STEPS_MAX (2 * PYTHON_FRAMES_MAX + PYTHON_THREADS_MAX + 2 * PYTHON_INTERPRETERS_MAX)

/* What a thread that runs no Python has, is a frame too from then on. */
#define PYTHON_BASE_FRAME 0x030f0000U

int python_begin(uint32_t level);
int python_start(uint32_t level);
int python_interpreter(uint32_t level);
int python_state(uint32_t level);
int python_frame(uint32_t level);
int python_step(uint32_t level);
int python_user(uint32_t level);

#ifdef __bpf__

/* pthread_self() of glibc and musl: on x86-64 it is what fs points to. On arm64 it lies below what
 * the register holds, by as much as each libc chooses: there Python isn't walked. */
static __always_inline uint64_t thread_self(const struct walk *walk)
{
	struct task_struct *task = walked_task(walk);

	if (!bpf_core_field_exists(task->thread.fsbase))
		return 0;
	return BPF_CORE_READ(task, thread.fsbase);
}

#else

uint64_t thread_self(const struct walk *walk);

#endif

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
	python->hash = hash_word(hash_word(python->hash, first), word);
	return true;
}

/* The last frame is the one for which the loop was entered. */
static __always_inline void python_enter(struct walk *walk)
{
	struct python_walk *python = &walk->python;
	uint32_t last = python->words_count - 2;

	if (last <= PYTHON_WORDS_MAX - 2)
		walk->words[PYTHON_AT + last] += (uint64_t)(FRAME_PYTHON_ENTRY - FRAME_PYTHON)
						 << FRAME_KIND_SHIFT;
	python->hash = hash_word(python->hash, FRAME_PYTHON_ENTRY);
	python->flags &= ~PYTHON_OPEN;
}

/* ---- the thread's state ---- */

static __always_inline uint32_t words_up_to(uint32_t words, uint32_t offset)
{
	return offset / 8 + 1 > words ? offset / 8 + 1 : words;
}

static __always_inline void python_measure(struct python_walk *python)
{
	uint32_t words = words_up_to(0, python->at.thread_next);

	words = words_up_to(words, python->at.thread_id);
	python->state_words = words_up_to(words, python->at.thread_frame);
	words = words_up_to(python->at.code_sum_at / 8 + python->at.code_sum_words,
			    python->at.object_type);
	python->code_words = words_up_to(words, python->at.code_name);
}

/* 0: there is no Python to be walked. */
__noinline int python_begin(uint32_t level)
{
	struct walk *walk = walk_at(level);
	struct python_walk *python;
	const struct chunk *chunk;
	uint32_t first;

	if (!walk || !walk->python_at)
		return 0;
	python = &walk->python;
	chunk = chunk_of(walk->python_at);
	first = walk->python_at & (CHUNK_WORDS - 1);
	if (!chunk || first > CHUNK_WORDS - CPYTHON_WORDS)
		return 0;
	__builtin_memcpy(&python->at, &chunk->words[first], sizeof(python->at));
	python->self = thread_self(walk);
	python->interpreter = python->state = python->frame = 0;
	python->interpreters = python->threads = 0;
	python->flags = 0;
	python->number++;
	python_measure(python);
	return python->self != 0;
}

static __always_inline uint64_t python_remembered(const struct walk *walk)
{
	const struct memo *memo = memo_at(walk->memo);

	if (!memo || memo->python_tid != walk->tid || memo->python_target != walk->head.target_id)
		return 0;
	return memo->python_state;
}

static __always_inline void python_remember(struct walk *walk, uint64_t state)
{
	struct memo *memo = memo_at(walk->memo);

	if (!memo)
		return;
	memo->python_tid = walk->tid;
	memo->python_target = walk->head.target_id;
	memo->python_state = state;
}

__noinline int python_start(uint32_t level)
{
	struct walk *walk = walk_at(level);
	struct python_walk *python;
	uint64_t heads[2]; /* the newest interpreter, the main one */

	if (!walk)
		return PYTHON_MEMORY;
	python = &walk->python;
	if (read_user(heads, sizeof(heads), python->at.runtime + python->at.interpreters_head))
		return PYTHON_MEMORY;
	python->flags |= PYTHON_STARTED;
	python->interpreter = heads[0];
	if (heads[0] != heads[1])
		return PYTHON_ON;
	python->flags |= PYTHON_ALONE;
	python->state = python_remembered(walk);
	if (python->state)
		python->flags |= PYTHON_MEMO;
	return PYTHON_ON;
}

__noinline int python_interpreter(uint32_t level)
{
	struct walk *walk = walk_at(level);
	struct python_walk *python;
	uint64_t next, threads;

	if (!walk)
		return PYTHON_MEMORY;
	python = &walk->python;
	if (python->interpreters >= PYTHON_INTERPRETERS_MAX)
		return PYTHON_SEARCHED;
	if (read_user(&next, sizeof(next), python->interpreter + python->at.interpreter_next) ||
	    read_user(&threads, sizeof(threads),
		      python->interpreter + python->at.interpreter_threads))
		return PYTHON_MEMORY;
	python->interpreters++;
	python->interpreter = next;
	python->state = threads;
	return PYTHON_ON;
}

/* The state's last frame, where it is the thread's; 0: it isn't, or has none. False: it can't be
 * read. */
static __always_inline bool python_leaf(struct python_walk *python, uint64_t *frame)
{
	*frame = 0;
	if (!python_read(python, python->state_words, python->state))
		return false;
	if (python_word(python, python->at.thread_id) != python->self)
		return true;
	*frame = python_word(python, python->at.thread_frame);
	if (!*frame || python->at.cframe == CPYTHON_NO)
		return true;
	return read_user(frame, sizeof(*frame), *frame + python->at.cframe) == 0;
}

__noinline int python_state(uint32_t level)
{
	struct walk *walk = walk_at(level);
	struct python_walk *python;
	uint64_t frame, state;
	bool alone;

	if (!walk)
		return PYTHON_MEMORY;
	python = &walk->python;
	alone = python->flags & PYTHON_ALONE;
	if (python->threads >= PYTHON_THREADS_MAX)
		return PYTHON_SEARCHED;
	if (!python_leaf(python, &frame)) {
		if (!(python->flags & PYTHON_MEMO))
			return PYTHON_MEMORY;
		frame = 0; /* it is no state any more */
	}
	python->threads++;
	state = python->state;
	python->state = python_word(python, python->at.thread_next);
	if (python->flags & PYTHON_MEMO || (frame && alone))
		python->state = 0;
	python->flags &= ~PYTHON_MEMO;
	if (!frame)
		return PYTHON_ON;
	python->frame = frame;
	python->frames = 0;
	python->behind = 0;
	if (alone) {
		python->interpreter = 0;
		python_remember(walk, state);
	}
	return PYTHON_ON;
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

static __always_inline int python_push_code(struct walk *walk, uint32_t entry, uint32_t owner)
{
	struct python_walk *python = &walk->python;
	uint64_t code = python_word(python, python->at.frame_code) & ~(uint64_t)python->at.code_tag;
	uint64_t instr = python_word(python, python->at.frame_instr);
	bool entered = entry == CPYTHON_ENTRY_EACH || (entry == CPYTHON_ENTRY_FLAG && owner);
	int r;

	if (python->at.instr_is_int)
		instr >>= python->at.frame_instr % 8 * 8;
	else
		instr -= code;
	if (python->words_count >= PYTHON_WORDS_MAX)
		return PYTHON_DEPTH;
	r = python_code(walk->level, code);
	if (r != PYTHON_ON)
		return r;
	python_push(walk, entered ? FRAME_PYTHON_ENTRY : FRAME_PYTHON, code,
		    cpython_frame_word(python->sum, instr));
	python->flags = entered ? python->flags & ~PYTHON_OPEN : python->flags | PYTHON_OPEN;
	return PYTHON_ON;
}

__noinline int python_frame(uint32_t level)
{
	struct walk *walk = walk_at(level);
	struct python_walk *python;
	uint32_t entry, owner;
	uint64_t previous;
	int r;

	if (!walk)
		return PYTHON_MEMORY;
	python = &walk->python;
	if (python->frame == python->behind)
		return PYTHON_DAMAGED;
	if (!python_read(python, python->at.frame_words, python->frame))
		return PYTHON_MEMORY;
	previous = python_word(python, python->at.frame_previous);
	owner = python_byte(python, python->at.frame_owner);
	entry = python->at.entry;
	if (entry == CPYTHON_ENTRY_SHIM && owner >= python->at.shim_owner)
		r = python_shim(walk, previous);
	else
		r = python_push_code(walk, entry, owner);
	if (r != PYTHON_ON)
		return r;
	if (!(++python->frames &
	      (python->frames - 1))) /* a circle is met again, whatever its size */
		python->behind = python->frame;
	python->frame = previous;
	if (!previous && python->flags & PYTHON_OPEN)
		python_enter(walk);
	return PYTHON_ON;
}

/* ---- the walk ---- */

/* PYTHON_ON: it goes on; else it ends. */
__noinline int python_step(uint32_t level)
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

/* Walks the thread's Python frames. A function of its own, that the verifier looks at once. */
__noinline int python_user(uint32_t level)
{
	struct walk *walk = walk_at(level);
	int r = PYTHON_ON;

	if (!walk || !python_begin(level))
		return 0;
	for (uint32_t i = 0; i < PYTHON_STEPS_MAX; i++) {
		r = python_step(level);
		if (r != PYTHON_ON)
			break;
	}
	walk->head.python = r == PYTHON_ON ? PYTHON_SEARCHED : r;
	return 0;
}
