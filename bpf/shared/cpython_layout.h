/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Layout of a process's CPython, as the walker needs it: plain data that the daemon writes and
 * bpf/python/python.h reads. A struct cpython lies in the arena behind the process's spans, in the
 * same chunk; struct target_value.python is its first word.
 *
 * The chain of frames begins at the runtime and leads down to the sampled thread. All offsets are
 * in the struct named before the arrow:
 *
 *	_PyRuntime.interpreters_head -> PyInterpreterState (.interpreter_next -> …)
 *	  .interpreter_threads -> PyThreadState (.thread_next -> …); the thread's own state is the
 *				  one whose .thread_id is the thread's pthread_self(), the TLS
 *				  register's value
 *	    .thread_frame -> a frame, or (cframe != CPYTHON_NO) a CFrame, which lies in the newest
 *			     loop's own frame: .cframe -> a frame, .cframe + 8 -> the CFrame of the
 *			     loop before
 *	      .frame_previous -> the frame that called this frame
 *
 * A frame is a PyFrameObject (3.8 to 3.10) or an _PyInterpreterFrame. All needed fields of a frame
 * lie in its first CPYTHON_FRAME_WORDS words. The fields of a code object that are summed up lie in
 * CPYTHON_CODE_WORDS words from `code_sum_at` on.
 */
#pragma once

#ifndef __bpf__
#include <stdint.h>
#endif

#include "bpf/shared/word_hash.h"

#define PYTHON_FRAMES_MAX   1000
#define PYTHON_WORDS_MAX    (2 * PYTHON_FRAMES_MAX)

#define CPYTHON_FRAME_WORDS 16 /* a power of two */
#define CPYTHON_CODE_WORDS  16
#define CPYTHON_NO	    0xffff

/* How the walker sees that the interpreter's loop (_PyEval_EvalFrameDefault) was entered for a
 * frame. */
enum cpython_entry {
	CPYTHON_ENTRY_EACH, /* the loop is entered for each frame (3.8 to 3.10) */
	CPYTHON_ENTRY_FLAG, /* entered if the byte at frame_owner isn't 0 (3.11) */
	/* Entered if the next frame is a shim: a frame without code, on the C stack, whose byte at
	 * frame_owner is shim_owner or more (3.12 and later). */
	CPYTHON_ENTRY_SHIM,
};

struct cpython {
	uint64_t runtime;   /* address of _PyRuntime in the process */
	uint64_t code_type; /* address of PyCode_Type, the type of every code object */
	uint32_t version;   /* PY_VERSION_HEX */
	uint32_t interpreter_threads;
	/* Offset of the newest interpreter; the next word is the main interpreter: if both words
	 * are equal, there is one interpreter only. */
	uint16_t interpreters_head;
	uint16_t interpreter_next;
	uint16_t thread_next, thread_id, thread_frame;
	uint16_t cframe;
	uint16_t frame_previous, frame_code, frame_instr, frame_owner;
	uint16_t frame_words; /* words to be read of a frame */
	uint16_t code_sum_at, code_sum_words;
	uint16_t code_name;    /* a str, whose hash is summed up as well */
	uint16_t unicode_hash; /* PyASCIIObject.hash */
	uint16_t object_type;  /* PyObject.ob_type */
	uint8_t entry;	       /* enum cpython_entry */
	uint8_t shim_owner;
	uint8_t code_tag; /* bits of the word at frame_code that are no part of the address */
	/* 1: frame_instr is f_lasti, 32 bits; 0: an address in the code object. */
	uint8_t instr_is_int;
	/* A str, the begin of whose text is summed up as well; 0: not summed up. */
	uint16_t code_file;
	uint8_t ascii_data; /* offset of the text in an ASCII str */
	/* Bit number of "ASCII" in the state of a str; the bit below is "compact". */
	uint8_t ascii_shift;
	/* Parts of a code object that are copied (bpf/shared/code_copy.h): two str and a bytes. */
	uint16_t code_filename;
	uint16_t code_qualname; /* CPYTHON_NO: the version has none */
	uint16_t code_lines;
	/* co_version, 32 bits among the words that are summed up: an interpreter gives each number
	 * to one object, and 0 to those for which no number is left. 0: there is no such field. */
	uint16_t code_version;
	uint32_t bytes_length, bytes_data; /* offsets in a bytes object */
	uint32_t loop_bytes; /* of the function _PyEval_EvalFrameDefault; 0: not known */
	uint64_t loop;	     /* its address in the process */
};

#define CPYTHON_WORDS 24 /* size of struct cpython in words of the arena */

_Static_assert(sizeof(struct cpython) == CPYTHON_WORDS * 4, "it lies in words");

/*
 * A Python frame takes two words of a stack (bpf/shared/sample.h):
 *
 *	 63      56 55                                             0
 *	+----------+------------------------------------------------+
 *	|   kind   |  address of the code object                    |
 *	+----------+------------------------+-----------------------+
 *	|     sum of the code object        |  instruction          |
 *	+-----------------------------------+-----------------------+
 *	 63                               32 31                    0
 *
 * instruction: f_lasti as it is (-1: none yet), or the address of the instruction minus the address
 * of the code object. FRAME_PYTHON_ENTRY: the interpreter's loop was entered for this frame, so its
 * caller is native code. A frame with the address 0 stands for a loop that has no frame yet. Python
 * frames come leaf first, behind all native frames.
 */

/* Why the walk of a thread's Python frames ended. Value of struct stack.python. */
enum python_end {
	PYTHON_NONE,	 /* no interpreter, or the thread has no Python frame */
	PYTHON_WHOLE,	 /* the walk reached the root */
	PYTHON_DEPTH,	 /* the thread has more than PYTHON_FRAMES_MAX frames */
	PYTHON_MEMORY,	 /* a frame or a code object could not be read */
	PYTHON_DAMAGED,	 /* a frame's code object is none, or a frame comes twice */
	PYTHON_SEARCHED, /* too many threads: the thread's state is not among those looked at */
	PYTHON_PENDING,	 /* not walked: the program that walks them was still being loaded */
	PYTHON_END_COUNT
};

/* Returns the sum of a code object's own words: the `count` (code_sum_words) words from code_sum_at
 * on. */
static inline __attribute__((always_inline)) uint64_t
cpython_words_sum(const uint64_t words[CPYTHON_CODE_WORDS], uint32_t count)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < CPYTHON_CODE_WORDS; i++) {
		if (i >= count)
			break;
		sum = hash_word(sum, words[i]);
	}
	return sum;
}

/* Returns the sum of a code object, which tells whether another code object has taken its address:
 * of its own words, and of the word at unicode_hash of the str at code_name. A stack has the upper
 * half of the sum. */
static inline __attribute__((always_inline)) uint64_t
cpython_code_sum(const uint64_t words[CPYTHON_CODE_WORDS], uint32_t count, uint64_t name_hash)
{
	return hash_word(cpython_words_sum(words, count), name_hash);
}

/* Words of a str from its length on: length, hash, state, perhaps one more, text. */
#define CPYTHON_FILE_WORDS 8

/*
 * Returns `sum` with the file's name (the str at code_file) added: modules that are made and thrown
 * away are all called <module>. `words` begin with the length of the str. Only what never changes
 * is added: not the hash of the str; of a text that isn't ASCII, only its length.
 */
static inline __attribute__((always_inline)) uint64_t
cpython_file_sum(uint64_t sum, const uint64_t words[CPYTHON_FILE_WORDS], const struct cpython *at)
{
	uint32_t header = (at->ascii_data - (at->unicode_hash - 8U)) / 8;
	uint64_t bytes = words[0];

	sum = hash_word(sum, bytes);
	if ((words[2] >> ((at->ascii_shift - 1U) & 63) & 3) != 3) /* compact and ASCII */
		return sum;
	for (uint32_t i = 3; i < CPYTHON_FILE_WORDS; i++) {
		if (i < header)
			continue;
		if (bytes < 8)
			return hash_word(sum, words[i] & ((1ULL << 8 * bytes) - 1));
		sum = hash_word(sum, words[i]);
		bytes -= 8;
	}
	return sum;
}

/* Returns the second word of a frame: the upper half of `sum`, and the instruction `at`. */
static inline __attribute__((always_inline)) uint64_t cpython_frame_word(uint64_t sum, uint32_t at)
{
	return (sum & 0xffffffff00000000ULL) | at;
}
