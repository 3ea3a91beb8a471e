/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Text of a Python process: str objects, copied from its memory, which is hostile.
 *
 * Source: CPython's Include/cpython/unicodeobject.h, PEP 393.
 */
#pragma once

#include "python/layout.h"
#include "python/pycode.h"

#define PYSTRING_BYTES_MAX 4096

struct pystring {
	/* UTF-8, valid, without NUL: surrogates (what a path has that is no UTF-8), NUL and what is
	 * no character are U+FFFD. A longer one is cut at a character, behind which stands an
	 * ellipsis. */
	char text[PYSTRING_BYTES_MAX];
	size_t len;
	uint64_t hash; /* the word at unicode_hash */
};

/* In most cases one read, two for long ones. -EBADMSG: it is no str; or what memory->read() says.
 */
int pystring_read(struct pystring *string, const struct python_layout *layout,
		  const struct process_memory *memory, uint64_t address);

/*
 * Reads the begin of an object: `least` bytes, and up to `most` of them where that costs no second
 * page, for what lies behind may not be there. Returns how many, or what memory->read() says.
 */
long pystring_begin(const struct process_memory *memory, uint64_t address, void *to, size_t least,
		    size_t most);
