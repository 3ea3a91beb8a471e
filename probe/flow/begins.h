/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the functions may begin that hold given addresses of a file's code, and who calls them.
 * Private to the room. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "proc/elf.h"

#define BEGINS_MAX 16 /* of an address, of a kind */

/* What says that a function begins there, the surest first. */
enum begin_kind {
	BEGIN_NAMED,  /* a symbol */
	BEGIN_CALLED, /* a call, or the program's begin */
	BEGIN_TAKEN,  /* code that takes the address */
	BEGIN_JUMPED, /* a jump: a call at a function's end, or one inside of a function */
	BEGIN_KINDS
};

/* An address, and where its function may begin, by kind, the nearest first. */
struct begins {
	uint64_t wanted;
	uint64_t end; /* the next begin, or the end of the code */
	struct {
		uint64_t at[BEGINS_MAX];
		unsigned count;
	} of[BEGIN_KINDS];
};

/* Fills in the begins of `count` addresses, which are sorted and set. Returns 0, or a negative
 * errno: -ENOMEM; an errno of reading. */
int begins_find(int fd, const struct elf_image *image, struct begins *begins, size_t count);

/* Calls met() for each call in the file's code that goes to one of `targets`, which are sorted.
 * `site`: of the call instruction. A result of met() other than 0 ends the search and is returned.
 * Errors of reading as above. */
int begins_callers(int fd, const struct elf_image *image, const uint64_t *targets, size_t count,
		   int (*met)(void *arg, uint64_t site), void *arg);
