/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An interpreter made by hand for bpf/python/python.h: its offsets, code objects, frames, threads.
 */
#pragma once

#include "unit/lib/unit.h"
#include "unit/walk/walk_maker.h"

#include "bpf/python/python.h"

#define HEAP	     0x10000000
#define HEAP_BYTES   0x200000
#define RUNTIME	     HEAP
#define PYTHON_PLACE (MAKER_SPANS + 3) /* in the arena; at no even word */
#define SELF	     0x7f0000001740ULL
#define CODE_TYPE    (HEAP + 0x800)

/* Where the made-up version has what. */
enum {
	HEADS = 0x40,
	INTERPRETER_NEXT = 0,
	INTERPRETER_THREADS = 0x10,
	THREAD_NEXT = 8,
	THREAD_FRAME = 0x48,
	THREAD_ID = 0x98,
	CFRAME = 8,
	FRAME_CODE = 0,
	FRAME_PREVIOUS = 8,
	FRAME_INSTR = 0x38,
	FRAME_LASTI = 0x34,
	FRAME_OWNER = 0x46,
	CODE_SUM = 0x20,
	CODE_SUM_WORDS = 5,
	CODE_NAME = 0x78,
	UNICODE_HASH = 0x18,
	FRAME_BYTES = 0x48,
	OBJECT_BYTES = 0x100,
};

static struct {
	struct cpython at;
	uint64_t next; /* free */
	uint64_t self;
	uint64_t frame_bytes; /* from one frame to the next one */
} python;

uint64_t thread_self(const struct walk *walk)
{
	(void)walk;
	return python.self;
}

static inline uint64_t python_place(uint64_t bytes)
{
	uint64_t at = python.next;

	python.next += bytes;
	if (python.next > HEAP + HEAP_BYTES)
		abort();
	return at;
}

static inline uint64_t python_object(void)
{
	return python_place(OBJECT_BYTES);
}

/* Tells the walker. */
static inline void python_tell(void)
{
	uint32_t words[CPYTHON_WORDS];

	memcpy(words, &python.at, sizeof(words));
	for (uint32_t i = 0; i < CPYTHON_WORDS; i++)
		maker_word(PYTHON_PLACE + i, words[i]);
	maker.walk->python_at = PYTHON_PLACE;
}

static inline void python_make(enum cpython_entry entry)
{
	bool old = entry == CPYTHON_ENTRY_EACH;

	maker_begin();
	memset(python_seen, 0, sizeof(python_seen));
	maker_map(HEAP, HEAP_BYTES);
	python.next = HEAP + 0x1000;
	python.self = SELF;
	python.frame_bytes = OBJECT_BYTES;
	python.at = (struct cpython){
		.runtime = RUNTIME,
		.code_type = CODE_TYPE,
		.version = 0x030d0000,
		.interpreter_threads = INTERPRETER_THREADS,
		.interpreters_head = HEADS,
		.interpreter_next = INTERPRETER_NEXT,
		.thread_next = THREAD_NEXT,
		.thread_id = THREAD_ID,
		.thread_frame = THREAD_FRAME,
		.cframe = entry == CPYTHON_ENTRY_FLAG ? CFRAME : CPYTHON_NO,
		.frame_previous = FRAME_PREVIOUS,
		.frame_code = FRAME_CODE,
		.frame_instr = old ? FRAME_LASTI : FRAME_INSTR,
		.frame_owner = old ? CPYTHON_NO : FRAME_OWNER,
		.frame_words = 9,
		.code_sum_at = CODE_SUM,
		.code_sum_words = CODE_SUM_WORDS,
		.code_name = CODE_NAME,
		.unicode_hash = UNICODE_HASH,
		.object_type = 8,
		.entry = entry,
		.shim_owner = 3,
		.instr_is_int = old,
	};
	python_tell();
}

/* Puts an interpreter before those that there are. */
static inline uint64_t python_interpreter_add(void)
{
	uint64_t interpreter = python_object(), head;

	memcpy(&head, maker_memory(RUNTIME + HEADS, 8), sizeof(head));
	maker_put(interpreter + INTERPRETER_NEXT, head);
	maker_put(RUNTIME + HEADS, interpreter);
	if (!head) /* the main one */
		maker_put(RUNTIME + HEADS + 8, interpreter);
	return interpreter;
}

/* … a thread, of which `frame` is the leaf. */
static inline uint64_t python_thread_add(uint64_t interpreter, uint64_t id, uint64_t frame)
{
	uint64_t state = python_object(), cframe, head;

	memcpy(&head, maker_memory(interpreter + INTERPRETER_THREADS, 8), sizeof(head));
	maker_put(interpreter + INTERPRETER_THREADS, state);
	maker_put(state + THREAD_NEXT, head);
	maker_put(state + THREAD_ID, id);
	if (python.at.cframe != CPYTHON_NO) {
		cframe = python_object();
		maker_put(cframe + CFRAME, frame);
		frame = cframe;
	}
	maker_put(state + THREAD_FRAME, frame);
	return state;
}

static inline uint64_t python_code_add(uint64_t name_hash)
{
	uint64_t code = python_object(), name = python_object();

	maker_put(code + 8, CODE_TYPE);
	maker_put(code + CODE_NAME, name);
	maker_put(name + UNICODE_HASH, name_hash);
	for (uint64_t i = 0; i < CODE_SUM_WORDS; i++)
		maker_put(code + CODE_SUM + 8 * i, code * 31 + i);
	return code;
}

/* A frame called by `previous`; `owner` 3: a shim. */
static inline uint64_t python_frame_add(uint64_t code, uint32_t at, uint64_t previous,
					uint8_t owner)
{
	uint64_t frame = python_place(python.frame_bytes);

	maker_put(frame + FRAME_CODE, code | python.at.code_tag);
	maker_put(frame + FRAME_PREVIOUS, previous);
	if (python.at.instr_is_int)
		maker_poke(frame + FRAME_LASTI, &at, sizeof(at));
	else
		maker_put(frame + FRAME_INSTR, code + at);
	maker_poke(frame + FRAME_OWNER, &owner, 1);
	return frame;
}

/* Returns why it ended. */
static inline unsigned python_walk(void)
{
	struct walk *walk = maker.walk;

	walk->python.hash = walk->python.words_count = walk->python.flags = 0;
	walk->head.python = PYTHON_NONE;
	python_user(walk->level);
	return walk->head.python;
}
