/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Layout of a process's HotSpot (the Java VM of OpenJDK), as the walker needs it: plain data that
 * the daemon writes and bpf/hotspot/hotspot_walk.h reads. A struct hotspot lies in the arena behind
 * the process's spans, in the same chunk; struct target_value.hotspot is its first word.
 *
 * All code that the VM made lies in its code cache: up to HOTSPOT_HEAPS_MAX heaps, each cut into
 * segments of 1 << segment_shift bytes. The segment map has a byte for each segment, which tells
 * how many segments back the segment's block begins (0: here; 0xff: free; else go back so many
 * segments and look again). A block is a header of block_bytes and a CodeBlob:
 *
 *	nmethod		a compiled method, or the wrapper of a native method. Its frame has
 *			frame_size words; the return address is the last word and the caller's fp
 *			the word below. The frame is complete from frame_complete on (an offset in
 *			the code).
 *	interpreter	one blob, at [interpreter_from, interpreter_to); its frames are found by fp.
 *	others		stubs, by frame_size if that isn't 0; else the stub keeps frame pointers.
 *
 * All offsets are in bytes, in the struct named.
 */
#pragma once

#ifndef __bpf__
#include <stdint.h>
#endif

#include "bpf/shared/word_hash.h"

#define HOTSPOT_HEAPS_MAX      4
#define HOTSPOT_NO	       0xffff
#define HOTSPOT_BLOB_WORDS_MAX 64 /* words read of a CodeBlob at most; a power of two */

struct hotspot_heap {
	uint64_t low, high; /* the reserved range; blocks grow from `low` on */
	uint64_t segments;  /* address of the segment map */
};

/* Bits of struct hotspot.flags. */
#define HOTSPOT_CODE_IS_OFFSET	  1U /* blob_code: an int, from the blob on (23 and later) */
#define HOTSPOT_DEOPT_IS_OFFSET	  2U /* nmethod_deopt…: ints, from the blob on; else addresses */
#define HOTSPOT_HEADER_IS_SHORT	  4U /* blob_header is a u2 (else an int) */
#define HOTSPOT_COMPLETE_IS_SHORT 8U /* blob_complete is an int16_t (else an int) */

struct hotspot {
	struct hotspot_heap heaps[HOTSPOT_HEAPS_MAX]; /* an unused entry has low = high = 0 */
	uint64_t interpreter_from, interpreter_to;
	/* If a frame returns into this range, the frames above were moved to the Java heap (a
	 * virtual thread's). from = to = 0: this VM has no such range. */
	uint64_t frozen_from, frozen_to;
	/*
	 * The code of Continuation.enterSpecial, to which the oldest frame of a virtual thread
	 * returns: at one pc until the frames were moved to the heap for the first time, at
	 * ContinuationEntry::_return_pc later. The frames above are those of the carrier thread.
	 * from = to = 0: the VM has no such code (yet).
	 */
	uint64_t carrier_from, carrier_to;
	uint8_t segment_shift;
	uint8_t block_bytes;
	uint8_t flags;
	/* Words to be read of a CodeBlob; all fields below lie in these words. */
	uint8_t blob_words;
	uint16_t nmethod_header; /* the value at blob_header that only nmethods have */
	uint16_t blob_header, blob_size, blob_complete, blob_frame_size, blob_code;
	uint16_t nmethod_id, nmethod_orig_pc; /* _compile_id, _orig_pc_offset */
	/* Return addresses of a frame that is to be deoptimized: the handler for most calls, and
	 * the handler for calls by a method handle (HOTSPOT_NO: this VM has one handler for all).
	 * An nmethod without the second handler has 0 there, or -1 if the field is an offset. */
	uint16_t nmethod_deopt, nmethod_deopt_mh;
	uint16_t method_const;	  /* Method._constMethod */
	uint16_t const_bytes;	  /* sizeof(ConstMethod): the bytecodes begin behind */
	uint16_t const_pool;	  /* ConstMethod._constants */
	uint16_t const_code_size; /* ConstMethod._code_size, u2 */
	uint16_t const_name;	  /* ConstMethod._name_index, u2 */
	uint16_t const_signature; /* ConstMethod._signature_index, u2 */
	/* Interpreted frames: distances from fp in words, to the saved sp of the sender, the Method
	 * and the saved bytecode pointer. */
	int8_t frame_sender;
	int8_t frame_method;
	int8_t frame_bcp;
	uint8_t pad[3];
};

#define HOTSPOT_WORDS (sizeof(struct hotspot) / 4) /* size in words of the arena */

_Static_assert(sizeof(struct hotspot) % 8 == 0, "it lies in words");

/*
 * Java frames in a stack (bpf/shared/sample.h). Each Java frame is one of the native words, and has
 * a second word, its detail. The details lie behind all native words, in the same order:
 *
 *	 63      56 55                                             0
 *	+----------+------------------------------------------------+
 *	|   kind   |  FRAME_JAVA, FRAME_JAVA_RETURN: pc (of a deoptimized frame the original pc)
 *	+----------+------------------------------------------------+  FRAME_JAVA_METHOD: Method*
 *
 *	 63      56 55           32 31                             0
 *	+----------+---------------+--------------------------------+
 *	|FRAME_JAVA_DETAIL|  bci   |  id                            |
 *	+----------+---------------+--------------------------------+
 *
 * FRAME_JAVA, FRAME_JAVA_RETURN: id is the compile id of the nmethod; 0: the blob is no nmethod (a
 * stub). bci is HOTSPOT_BCI_NONE. FRAME_JAVA_METHOD, an interpreted method: bci, or
 * HOTSPOT_BCI_NONE (native, or not known); id is hotspot_method_id(). The id lets a later reader
 * know that the code is still the sampled one. FRAME_JAVA is an interrupted frame: as a rule the VM
 * has no debug information for this very pc.
 */
#define HOTSPOT_BCI_NONE 0xffffffU

/* Returns the second word of a Java frame. */
static inline __attribute__((always_inline)) uint64_t hotspot_detail(uint64_t kind, uint32_t bci,
								     uint32_t id)
{
	return kind << 56 | (uint64_t)(bci & 0xffffff) << 32 | id;
}

/* Returns a hash that tells whether another method has taken a Method's address: of the
 * ConstMethod's address, the constant pool, the indices of name and signature, and the size of the
 * code. */
static inline __attribute__((always_inline)) uint32_t
hotspot_method_id(uint64_t const_method, uint64_t pool, uint32_t name, uint32_t signature,
		  uint32_t code_size)
{
	uint64_t sum = hash_word(hash_word(0, const_method), pool);

	sum = hash_word(sum, (uint64_t)name << 32 | signature << 16 | code_size);
	return (uint32_t)(sum >> 32);
}
