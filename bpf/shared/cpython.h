/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the walker has to know of a process's CPython: plain data that the daemon writes and
 * bpf/python/python.h reads. It lies in the arena behind the process's spans, in the same chunk;
 * struct target_value.python is its first word.
 *
 * Where the chain of frames begins, from the runtime down to the sampled thread (all are offsets in
 * the struct named before the arrow):
 *
 *	_PyRuntime.interpreters_head -> PyInterpreterState (.interpreter_next -> …)
 *	  .interpreter_threads -> PyThreadState (.thread_next -> …), its own where .thread_id is
 *				  pthread_self() of the thread, which is the TLS register's value
 *	    .thread_frame -> a frame, or (cframe != CPYTHON_NO) a CFrame whose .cframe -> a frame
 *	      .frame_previous -> the frame that called it
 *
 * A frame is a PyFrameObject (3.8 to 3.10) or an _PyInterpreterFrame. All its fields that are
 * wanted lie in its first CPYTHON_FRAME_WORDS words, those of a code object that are summed up in
 * CPYTHON_CODE_WORDS from `code_sum_at` on.
 */
#pragma once

#ifndef __bpf__
#include <stdint.h>
#endif

#include "bpf/shared/hash.h"

#define PYTHON_FRAMES_MAX   1000
#define PYTHON_WORDS_MAX    (2 * PYTHON_FRAMES_MAX)

#define CPYTHON_FRAME_WORDS 16 /* a power of two */
#define CPYTHON_CODE_WORDS  16
#define CPYTHON_NO	    0xffff

/* How a frame tells that the interpreter's loop (_PyEval_EvalFrameDefault) was entered for it. */
enum cpython_entry {
	CPYTHON_ENTRY_EACH, /* it is for each frame (3.8 to 3.10) */
	CPYTHON_ENTRY_FLAG, /* the byte at frame_owner isn't 0 (3.11) */
	CPYTHON_ENTRY_SHIM, /* behind it comes a frame without code, on the C stack, of which the
			       byte at frame_owner is shim_owner or more (3.12 and later) */
};

struct cpython {
	uint64_t runtime;   /* address of _PyRuntime in the process */
	uint64_t code_type; /* of PyCode_Type; what has another type is no code object */
	uint32_t version;   /* PY_VERSION_HEX */
	uint32_t interpreter_threads;
	uint16_t interpreters_head; /* the word behind it is the main interpreter: if both are equal
				       there is one only */
	uint16_t interpreter_next;
	uint16_t thread_next, thread_id, thread_frame;
	uint16_t cframe;
	uint16_t frame_previous, frame_code, frame_instr, frame_owner;
	uint16_t frame_words; /* to be read of a frame */
	uint16_t code_sum_at, code_sum_words;
	uint16_t code_name;    /* a str, whose hash is summed up as well */
	uint16_t unicode_hash; /* PyASCIIObject.hash */
	uint16_t object_type;  /* PyObject.ob_type */
	uint8_t entry;	       /* enum cpython_entry */
	uint8_t shim_owner;
	uint8_t code_tag;     /* bits of the word at frame_code that are no part of the address */
	uint8_t instr_is_int; /* frame_instr is f_lasti, 32 bits; else an address in the code object
			       */
	uint16_t code_file;   /* a str, the begin of whose text is summed up as well; 0: it isn't */
	uint8_t ascii_data;   /* where an ASCII str has its text */
	uint8_t ascii_shift;  /* … the bit of its state that says so; the one below: compact */
	/* What of a code object is copied (bpf/shared/code_copy.h): two str and a bytes. */
	uint16_t code_filename;
	uint16_t code_qualname; /* CPYTHON_NO: there is none */
	uint16_t code_lines;
	uint16_t pad;
	uint32_t bytes_length, bytes_data; /* in a bytes */
};

#define CPYTHON_WORDS 20 /* of the arena */

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
 * instruction: f_lasti as it is (-1: none yet), or the address of the instruction less that of the
 * code object. FRAME_PYTHON_ENTRY: the interpreter's loop was entered for this frame, and what
 * called it is native code. A frame whose address is 0 stands for a loop that has no frame yet.
 * They come leaf first, behind all of the native frames.
 */

/* Why a thread's chain of Python frames ended. struct stack.python. */
enum python_end {
	PYTHON_NONE,	 /* no interpreter, or the thread has no Python frame */
	PYTHON_WHOLE,	 /* at its root */
	PYTHON_DEPTH,	 /* it has more than PYTHON_FRAMES_MAX */
	PYTHON_MEMORY,	 /* a frame or a code object could not be read */
	PYTHON_DAMAGED,	 /* what should be a code object is none, or a frame comes twice */
	PYTHON_SEARCHED, /* too many threads: its state wasn't found among those looked at */
	PYTHON_END_COUNT
};

/*
 * The sum of a code object: tells whether another one has taken its address. `words` are those from
 * code_sum_at on, code_sum_words of them; `name_hash` the word at unicode_hash of the str at
 * code_name. Of it a stack has the upper half.
 */
static inline __attribute__((always_inline)) uint64_t
cpython_code_sum(const uint64_t words[CPYTHON_CODE_WORDS], uint32_t count, uint64_t name_hash)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < CPYTHON_CODE_WORDS; i++) {
		if (i >= count)
			break;
		sum = hash_word(sum, words[i]);
	}
	return hash_word(sum, name_hash);
}

/* Of a str, from its length on: length, hash, state, perhaps one more, text. */
#define CPYTHON_FILE_WORDS 8

/*
 * … and with code_file of the file's name as well: modules that are made and thrown away are all
 * called <module>. Only what never changes: not its hash, and of other text than ASCII the length.
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

static inline __attribute__((always_inline)) uint64_t cpython_frame_word(uint64_t sum, uint32_t at)
{
	return (sum & 0xffffffff00000000ULL) | at;
}
