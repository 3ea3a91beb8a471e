/* SPDX-License-Identifier: GPL-2.0-only */
/* What alloc/allocator.c (symbols), allocator_names.c (their names) and allocator_inner.c (who
 * calls whom) share. Nobody else includes it. */
#pragma once

#include "alloc/allocator.h"

/* What a name tells of the file that defines it. */
enum name_sign {
	SIGN_NONE,
	SIGN_LOADER, /* glibc's dynamic loader, whose malloc is for itself */
	SIGN_JEMALLOC,
	SIGN_TCMALLOC,
	SIGN_GLIBC,
	SIGN_MUSL,
	SIGN_COUNT
};

struct allocator_name {
	const char *name;
	enum call call;	   /* CALL_COUNT_OF: it is only a sign */
	uint8_t arguments; /* struct allocator_function */
	bool wraps;	   /* it may hand the call on: calloc, operator new … */
	bool is_operator;  /* of C++ */
	bool prefixed;	   /* "je_malloc" */
	enum name_sign sign;
};

extern const struct allocator_name allocator_names[];
extern const size_t allocator_names_count;

/* How many there may be. */
#define ALLOCATOR_NAMES_MAX 128

/* Leaves out those that hand on their calls: `wraps[i]` says whether functions[i] may. Negative
 * errno of reading. */
int allocator_leave_out_wrappers(int fd, const struct elf_image *image, struct allocator *allocator,
				 bool wraps[ALLOCATOR_FUNCTIONS_MAX]);
