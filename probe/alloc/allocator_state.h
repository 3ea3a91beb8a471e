/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to alloc/allocator.c (symbols), allocator_names.c (table of names) and allocator_inner.c
 * (which function calls which).
 */
#pragma once

#include "alloc/allocator.h"

/* What the presence of a name says about its file. */
enum name_sign {
	SIGN_NONE,
	SIGN_LOADER, /* glibc's dynamic loader, whose malloc is for its own use */
	SIGN_JEMALLOC,
	SIGN_TCMALLOC,
	SIGN_GLIBC,
	SIGN_MUSL,
	SIGN_COUNT
};

struct allocator_name {
	const char *name;
	enum call call;	   /* CALL_COUNT_OF: not a function of interest, only a sign */
	uint8_t arguments; /* struct allocator_function */
	bool wraps;	   /* it may only hand on the call: calloc, operator new … */
	bool is_operator;  /* a C++ operator */
	bool prefixed;	   /* "je_malloc" */
	enum name_sign sign;
};

extern const struct allocator_name allocator_names[];
extern const size_t allocator_names_count;

/* Most names the table may have. */
#define ALLOCATOR_NAMES_MAX 128

/*
 * Removes functions that only hand on their calls; wraps[i] says whether functions[i] may do that.
 * Returns 0, -ENOMEM or a negative errno of reading.
 */
int allocator_leave_out_wrappers(int fd, const struct elf_image *image, struct allocator *allocator,
				 bool wraps[ALLOCATOR_FUNCTIONS_MAX]);
