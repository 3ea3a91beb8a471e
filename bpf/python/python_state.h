/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The state of the sampled thread in the interpreter:
 *
 *	runtime -> interpreters -> threads; the state whose thread_id is the TLS register
 *
 * The thread's memo (bpf/unwind/memo.h) remembers the state, which is the thread's own as long as
 * it has the thread_id. If the remembered state has no frame, the list is searched again, for the
 * thread may have another state by now. With several interpreters, all states of the thread that
 * have frames are walked one after the other, the newest first.
 *
 * Where the state has a CFrame (3.11, 3.12), a loop that begins makes its own CFrame the newest one
 * some instructions before it puts a frame there. Until then the CFrame has what lay on the stack
 * before, perhaps a frame of another call. So while the thread is in the loop's function, the
 * newest loop's frames are believed if the frame for which it was entered has the caller that the
 * CFrame before says. Else they are dropped: the loop has no frame yet.
 */
#pragma once

#include "bpf/python/python_code.h"

#define PYTHON_INTERPRETERS_MAX 64
#define PYTHON_STATE_BYTES	4096U /* more than a thread's state has */
#define PYTHON_THREADS_MAX	1024

int python_begin(uint32_t level);
int python_start(uint32_t level);
int python_interpreter(uint32_t level);
int python_state(uint32_t level);
int python_drop(uint32_t level);

#ifdef __bpf__

/* Returns pthread_self() of glibc and musl; 0: not known. On x86-64 that is where fs points to. On
 * arm64 it lies below the register's value, at a distance that each libc chooses: there Python
 * isn't walked. */
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

static __always_inline uint32_t words_up_to(uint32_t words, uint32_t offset)
{
	return offset / 8 + 1 > words ? offset / 8 + 1 : words;
}

/* Computes how many words are read of a thread's state and of a code object. */
static __always_inline void python_measure(struct python_walk *python)
{
	uint32_t words = words_up_to(0, python->at.thread_next);

	words = words_up_to(words, python->at.thread_id);
	python->state_words = words_up_to(words, python->at.thread_frame);
	words = words_up_to(python->at.code_sum_at / 8 + python->at.code_sum_words,
			    python->at.object_type);
	words = words_up_to(words, python->at.code_file);
	python->code_words = words_up_to(words, python->at.code_name);
}

/* Reads the layout of the process into python.at. The layout never changes for the same run of
 * spans, and the arena is cold memory, so the last layout is kept. */
static __always_inline bool python_layout(struct walk *walk)
{
	struct python_walk *python = &walk->python;
	uint32_t first = walk->python_at & (CHUNK_WORDS - 1);
	const struct chunk *chunk;

	if (walk->spans_number && walk->spans_number == python->at_number &&
	    walk->python_at == python->at_from)
		return true;
	python->at_number = 0;
	chunk = chunk_of(walk->python_at);
	if (!chunk || first > CHUNK_WORDS - CPYTHON_WORDS)
		return false;
	__builtin_memcpy(&python->at, &chunk->words[first], sizeof(python->at));
	python_measure(python);
	python->at_number = walk->spans_number;
	python->at_from = walk->python_at;
	return true;
}

/* Begins a walk of Python frames. Returns 0 if there is no Python to be walked. */
__noinline int python_begin(uint32_t level)
{
	struct walk *walk = walk_at(level);
	struct python_walk *python;
	uint64_t context;

	if (!walk || !walk->python_at)
		return 0;
	python = &walk->python;
	if (!python_layout(walk))
		return 0;
	python->self = thread_self(walk);
	python->interpreter = python->state = python->frame = 0;
	python->interpreters = python->threads = 0;
	python->flags = 0;
	python->code = python->block_bytes = python->file = 0;
	python->number++;
	context = hash_word(walk->head.target_id, walk->head.window);
	context = hash_word(context, walk->head.key.tgid);
	if (python->context != context) {
		python->context = context;
		python->since = python->number;
	}
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

/* Returns whether the thread is in the function that is the interpreter's loop. (A blocked thread
 * has no reason to be at its begin.) */
static __always_inline bool python_in_loop(const struct walk *walk)
{
#ifdef WALKS_OTHERS
	return false;
#else
	return walk->user.pc - walk->python.at.loop < walk->python.at.loop_bytes;
#endif
}

/* Makes *frame, a CFrame, the frame that it has. Returns false if that isn't known. */
static __always_inline bool python_of_cframe(struct walk *walk, uint64_t *frame)
{
	struct python_walk *python = &walk->python;
	uint64_t words[2]; /* the frame, the CFrame before */

	if (read_user(words, sizeof(words), *frame + python->at.cframe))
		return false;
	*frame = words[0];
	if (!python_in_loop(walk))
		return true;
	if (read_user(&python->caller, sizeof(python->caller), words[1] + python->at.cframe))
		return words[0] != 0;
	/* Nobody called a thread's first loop, whose CFrame before lies in the state itself. If
	 * another loop has no caller, its CFrame isn't filled in at all yet. */
	if (!python->caller && words[1] - python->state >= PYTHON_STATE_BYTES)
		return false;
	python->flags |= PYTHON_UNSURE;
	return true;
}

/* Reads the last frame of the current state; 0: the state is another thread's, or has no frame.
 * Returns false if the state can't be read. */
static __always_inline bool python_leaf(struct walk *walk, uint64_t *frame)
{
	struct python_walk *python = &walk->python;

	*frame = 0;
	python->flags &= ~PYTHON_UNSURE;
	if (!python_read(python, python->state_words, python->state))
		return false;
	if (python_word(python, python->at.thread_id) != python->self)
		return true;
	*frame = python_word(python, python->at.thread_frame);
	if (!*frame || python->at.cframe == CPYTHON_NO)
		return true;
	return python_of_cframe(walk, frame);
}

__noinline int python_state(uint32_t level)
{
	struct walk *walk = walk_at(level);
	struct python_walk *python;
	uint64_t frame, state;
	bool alone, has_frame;

	if (!walk)
		return PYTHON_MEMORY;
	python = &walk->python;
	alone = python->flags & PYTHON_ALONE;
	if (python->threads >= PYTHON_THREADS_MAX)
		return PYTHON_SEARCHED;
	if (!python_leaf(walk, &frame)) {
		if (!(python->flags & PYTHON_MEMO))
			return PYTHON_MEMORY;
		frame = 0; /* the memory is no state any more */
	}
	has_frame = frame || python->flags & PYTHON_UNSURE;
	python->threads++;
	state = python->state;
	python->state = python_word(python, python->at.thread_next);
	if (python->flags & PYTHON_MEMO || (has_frame && alone))
		python->state = 0;
	python->flags &= ~PYTHON_MEMO;
	if (!has_frame)
		return PYTHON_ON;
	python->frame = frame;
	python->frames = 0;
	python->behind = python->above = 0;
	python->sure_words = python->words_count;
	python->sure_hash = python->hash;
	if (alone) {
		python->interpreter = 0;
		python_remember(walk, state);
	}
	return frame ? PYTHON_ON : python_drop(level);
}
