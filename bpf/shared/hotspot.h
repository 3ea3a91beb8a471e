/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the walker has to know of a process's HotSpot (the Java VM of OpenJDK): plain data that the
 * daemon writes and bpf/hotspot/hotspot_walk.h reads. It lies in the arena behind the process's
 * spans, in the same chunk; struct target_value.hotspot is its first word.
 *
 * All code that the VM made lies in its code cache: up to HOTSPOT_HEAPS_MAX heaps, each cut into
 * segments of 1 << segment_shift bytes. A byte for each segment (the segment map) tells how many
 * segments back its block begins (0: here; 0xff: free; else go back so many and look again). A
 * block is a header of block_bytes and a CodeBlob:
 *
 *	nmethod		a compiled method, or the wrapper of a native one. Its frame has frame_size
 *			words, with the return address in the last and the caller's fp below it,
 *			from frame_complete on (an offset in its code).
 *	interpreter	one blob, at [interpreter_from, interpreter_to): its frames are by fp.
 *	others		stubs: by frame_size where that isn't 0; else they keep frame pointers.
 *
 * All offsets are in bytes, in the struct named.
 */
#pragma once

#ifndef __bpf__
#include <stdint.h>
#endif

#include "bpf/shared/hash.h"

#define HOTSPOT_HEAPS_MAX      4
#define HOTSPOT_NO	       0xffff
#define HOTSPOT_BLOB_WORDS_MAX 64 /* of a CodeBlob, all that is wanted; a power of two */

struct hotspot_heap {
	uint64_t low, high; /* reserved for its blocks; what is used grows from low on */
	uint64_t segments;  /* address of its segment map */
};

/* struct hotspot.flags */
#define HOTSPOT_CODE_IS_OFFSET	  1U /* blob_code is an int, from the blob on (23 and later) */
#define HOTSPOT_DEOPT_IS_OFFSET	  2U /* nmethod_deopt…: ints, from the blob on; else addresses */
#define HOTSPOT_HEADER_IS_SHORT	  4U /* blob_header is a u2 (else an int) */
#define HOTSPOT_COMPLETE_IS_SHORT 8U /* blob_complete is an int16_t (else an int) */

struct hotspot {
	struct hotspot_heap heaps[HOTSPOT_HEAPS_MAX]; /* unused ones: low = high = 0 */
	uint64_t interpreter_from, interpreter_to;
	/* A return address there: the frames above it were put away in the heap (a virtual
	 * thread's); from = to = 0: this VM has none. */
	uint64_t frozen_from, frozen_to;
	/* The code of Continuation.enterSpecial, where a virtual thread's oldest frame returns to:
	 * at one pc until it was put away for the first time, then at
	 * ContinuationEntry::_return_pc. What lies above is its carrier's. from = to = 0: the VM
	 * has none (yet). */
	uint64_t carrier_from, carrier_to;
	uint8_t segment_shift;
	uint8_t block_bytes;
	uint8_t flags;
	uint8_t blob_words;	 /* to be read of a CodeBlob: all that is below lies in them */
	uint16_t nmethod_header; /* value at blob_header that only nmethods have */
	uint16_t blob_header, blob_size, blob_complete, blob_frame_size, blob_code;
	uint16_t nmethod_id, nmethod_orig_pc; /* _compile_id, _orig_pc_offset */
	/* Where a frame that is to be deoptimized returns to: the handler for most calls, that for
	 * calls by a method handle (HOTSPOT_NO: this VM has one for all). An nmethod without the
	 * latter has 0, or -1 where it is an offset. */
	uint16_t nmethod_deopt, nmethod_deopt_mh;
	uint16_t method_const;	  /* Method._constMethod */
	uint16_t const_bytes;	  /* sizeof(ConstMethod): the bytecodes begin behind it */
	uint16_t const_pool;	  /* ConstMethod._constants */
	uint16_t const_code_size; /* …_code_size, u2 */
	uint16_t const_name;	  /* …_name_index, u2 */
	uint16_t const_signature; /* …_signature_index, u2 */
	int8_t frame_sender;	  /* interpreted frames: words from fp: the sender's sp, … */
	int8_t frame_method;	  /* … the Method, … */
	int8_t frame_bcp;	  /* … where the bytecode pointer is saved */
	uint8_t pad[3];
};

#define HOTSPOT_WORDS (sizeof(struct hotspot) / 4) /* of the arena */

_Static_assert(sizeof(struct hotspot) % 8 == 0, "it lies in words");

/*
 * Java frames in a stack (bpf/shared/sample.h). Each is one of the native words, and has a second
 * word behind all native words, these in the same order:
 *
 *	 63      56 55                                             0
 *	+----------+------------------------------------------------+
 *	|   kind   |  FRAME_JAVA, FRAME_JAVA_RETURN: pc (of a deoptimized frame the original one)
 *	+----------+------------------------------------------------+  FRAME_JAVA_METHOD: Method*
 *
 *	 63      56 55           32 31                             0
 *	+----------+---------------+--------------------------------+
 *	|FRAME_JAVA_DETAIL|  bci   |  id                            |
 *	+----------+---------------+--------------------------------+
 *
 * FRAME_JAVA …: id is the nmethod's compile id; 0: the blob is no nmethod (a stub). bci is
 * HOTSPOT_BCI_NONE. FRAME_JAVA_METHOD: an interpreted one; bci, or HOTSPOT_BCI_NONE (native, or not
 * known); id is hotspot_method_id(). So what is read later is known to be what was sampled.
 * FRAME_JAVA: of an interrupted frame: no debug information is for this very pc, as a rule.
 */
#define HOTSPOT_BCI_NONE 0xffffffU

static inline __attribute__((always_inline)) uint64_t hotspot_detail(uint64_t kind, uint32_t bci,
								     uint32_t id)
{
	return kind << 56 | (uint64_t)(bci & 0xffffff) << 32 | id;
}

/* Tells whether another method has taken its address: of its ConstMethod's address, constant pool,
 * indices of name and signature, size of code. */
static inline __attribute__((always_inline)) uint32_t
hotspot_method_id(uint64_t const_method, uint64_t pool, uint32_t name, uint32_t signature,
		  uint32_t code_size)
{
	uint64_t sum = hash_word(hash_word(0, const_method), pool);

	sum = hash_word(sum, (uint64_t)name << 32 | signature << 16 | code_size);
	return (uint32_t)(sum >> 32);
}
