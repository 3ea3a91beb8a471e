/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Copy of a Python code object that no walk has met before. The copy is made at the sample, for the
 * code object may be freed long before the daemon could read it. The copy is sent over the ring of
 * stacks, before the stack that refers to it.
 */
#pragma once

#include "bpf/shared/cpython_layout.h"

#define CODE_OBJECT_WORDS 32   /* words of the object, from its first byte on; a power of two */
#define CODE_TEXT_BYTES	  256  /* bytes of a str, header included */
#define CODE_LINES_BYTES  2048 /* of a bytes object, header included; a longer one isn't copied */

/* Value of `kind`. The field lies where a struct stack has its probe, which tells the two kinds of
 * records apart. */
#define CODE_COPY_KIND 0xffffffffU

enum code_part {
	CODE_PART_OBJECT,
	CODE_PART_NAME,
	CODE_PART_QUALNAME, /* empty: the same str as the name, or the version has none */
	CODE_PART_FILE,
	CODE_PART_LINES,
	CODE_PARTS
};

struct code_copy {
	uint64_t address; /* address of the code object */
	uint32_t tgid;
	uint32_t kind;	    /* CODE_COPY_KIND */
	uint64_t target_id; /* struct target_value.id */
	uint32_t sum;	    /* upper half of the sum (bpf/shared/cpython_layout.h), as in a stack */
	uint16_t bytes[CODE_PARTS]; /* bytes copied of each part, from its first byte on; 0: none */
	uint16_t pad;
	uint64_t at[CODE_PARTS]; /* address of each part in the process */
	uint64_t object[CODE_OBJECT_WORDS];
	uint8_t name[CODE_TEXT_BYTES], qualname[CODE_TEXT_BYTES], file[CODE_TEXT_BYTES];
	uint8_t lines[CODE_LINES_BYTES]; /* last field: the record ends behind the copied bytes */
};

#define CODE_COPY_LEAST (sizeof(struct code_copy) - CODE_LINES_BYTES)

/* State of one walk: the code objects that are to be copied, and the record that is being made. */
#define CODE_COPIES_MAX 16 /* a power of two */

struct code_copying {
	uint64_t window; /* number of the window that `bytes` belongs to */
	uint64_t bytes;	 /* bytes of copies that this CPU sent in that window */
	uint32_t count;	 /* new code objects, with those that found no room in `codes` */
	uint32_t whole;	 /* of these: the code objects that were copied completely */
	uint64_t codes[CODE_COPIES_MAX], sums[CODE_COPIES_MAX];
	struct code_copy copy;
};

_Static_assert(sizeof(struct code_copy) % 8 == 0, "the ring's records are 8-byte aligned");
