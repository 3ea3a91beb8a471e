/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A copy of a Python code object that no walk has come to before: made at the sample, for it may be
 * thrown away long before the daemon could read it. It goes over the ring of stacks, before the
 * stack that has it.
 */
#pragma once

#include "bpf/shared/cpython.h"

#define CODE_OBJECT_WORDS 32   /* of the object itself, from its first byte on; a power of two */
#define CODE_TEXT_BYTES	  256  /* of a str, with its header */
#define CODE_LINES_BYTES  2048 /* of a bytes, with its header: a longer one isn't copied */

/* What `kind` says: lies where a struct stack has its probe. */
#define CODE_COPY_KIND 0xffffffffU

enum code_part {
	CODE_PART_OBJECT,
	CODE_PART_NAME,
	CODE_PART_QUALNAME, /* none: it is the name itself, or the version has none */
	CODE_PART_FILE,
	CODE_PART_LINES,
	CODE_PARTS
};

struct code_copy {
	uint64_t address; /* of the code object */
	uint32_t tgid;
	uint32_t kind;		    /* CODE_COPY_KIND */
	uint64_t target_id;	    /* struct target_value.id */
	uint32_t sum;		    /* as in a stack */
	uint16_t bytes[CODE_PARTS]; /* that there are of each part, from its begin; 0: none */
	uint16_t pad;
	uint64_t at[CODE_PARTS]; /* where each was in the process */
	uint64_t object[CODE_OBJECT_WORDS];
	uint8_t name[CODE_TEXT_BYTES], qualname[CODE_TEXT_BYTES], file[CODE_TEXT_BYTES];
	uint8_t lines[CODE_LINES_BYTES]; /* last: the record ends behind its bytes */
};

#define CODE_COPY_LEAST (sizeof(struct code_copy) - CODE_LINES_BYTES)

/* Those of one walk: what is to be copied, and the record that is made. */
#define CODE_COPIES_MAX 16 /* a power of two */

struct code_copying {
	uint64_t window; /* in which … */
	uint64_t bytes;	 /* … so many were sent by this CPU */
	uint32_t count;	 /* code objects that are new; those that found no room, too */
	uint32_t whole;	 /* of these: copied, with all that is read of them */
	uint64_t codes[CODE_COPIES_MAX], sums[CODE_COPIES_MAX];
	struct code_copy copy;
};

_Static_assert(sizeof(struct code_copy) % 8 == 0, "the ring's records are 8-byte aligned");
