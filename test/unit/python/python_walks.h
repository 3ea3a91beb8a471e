/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Walks of Python's frames, and what they have to find. */
#pragma once

#include "unit/python/interpreter_maker.h"

#define ENTRY(code) (code), true
#define FRAME(code) (code), false

struct expected {
	uint64_t code;
	bool entry;
	uint32_t at;
};

static uint64_t code[8]; /* of the process */

static inline void make(enum cpython_entry entry)
{
	python_make(entry);
	for (size_t i = 0; i < ARRAY_SIZE(code); i++)
		code[i] = python_code_add(i * 77);
}

/* The thread has these frames, in the only interpreter. */
static inline uint64_t make_thread(uint64_t leaf)
{
	uint64_t interpreter = python_interpreter_add(), state;

	python_thread_add(interpreter, SELF - 4096, 0);
	state = python_thread_add(interpreter, SELF, leaf);
	python_thread_add(interpreter, SELF + 4096, 0);
	return state;
}

static inline void check_frames(int line, unsigned why, const struct expected *expected,
				size_t count)
{
	unsigned is = python_walk();
	const uint64_t *words = maker.walk->words + PYTHON_AT;

	for (size_t i = 0; i < count && 2 * i < maker.walk->python.words_count; i++) {
		unsigned kind = expected[i].entry ? FRAME_PYTHON_ENTRY : FRAME_PYTHON;

		if (words[2 * i] != frame_word(kind, expected[i].code) ||
		    (uint32_t)words[2 * i + 1] != expected[i].at)
			fail_msg("line %d: frame %zu is %#llx at %u", line, i,
				 (unsigned long long)words[2 * i], (uint32_t)words[2 * i + 1]);
	}
	if (is != why || maker.walk->python.words_count != 2 * count)
		fail_msg("line %d: %u words, end %u", line, maker.walk->python.words_count, is);
}

#define expect_frames(why, ...)                                                                    \
	do {                                                                                       \
		const struct expected expected_[] = {__VA_ARGS__};                                 \
		check_frames(__LINE__, why, expected_, ARRAY_SIZE(expected_));                     \
	} while (0)

static inline int end(void **state)
{
	(void)state;
	maker_done();
	return 0;
}
