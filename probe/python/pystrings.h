/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads str objects of a Python process from its memory, which is hostile.
 *
 * Source: CPython's Include/cpython/unicodeobject.h, PEP 393.
 */
#pragma once

#include "python/layout.h"
#include "python/pycode.h"

#define PYSTRING_BYTES_MAX 4096

struct pystring {
	/* Valid UTF-8 without NUL: U+FFFD replaces surrogates (from bytes of a path that aren't
	 * UTF-8), NUL and values that are no character. A longer text is cut between characters and
	 * ends with an ellipsis. */
	char text[PYSTRING_BYTES_MAX];
	size_t len;
	uint64_t hash; /* the word at unicode_hash */
};

/* Reads a str, usually with one read, a long one with two. Returns 0, -EBADMSG if there is no str,
 * or the errno of memory->read(). */
int pystring_read(struct pystring *string, const struct python_layout *layout,
		  const struct process_memory *memory, uint64_t address);

/*
 * Reads the start of an object: at least `least` bytes, and up to `most` if they lie in the same
 * page (the next page may not be mapped) or in the copy. Returns how many, or the errno of
 * memory->read().
 */
long pystring_begin(const struct process_memory *memory, uint64_t address, void *to, size_t least,
		    size_t most);
