/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sorted array of a file's known functions: those that were asked for, each with the range of file
 * offsets for which the answer holds. Ranges don't overlap.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "elf/native.h"

struct cached_function {
	uint64_t from, to; /* file offsets */
	uint64_t address;  /* of the function, as the file was linked */
	uint32_t name;	   /* offset in ranges.names, or NATIVE_NO_NAME */
};

struct function_cache {
	struct cached_function *each; /* sorted by file offset */
	size_t count, capacity;
	struct buf names;
};

void function_cache_done(struct function_cache *ranges);
size_t function_cache_bytes(const struct function_cache *ranges);

/* Returns the range that holds a file offset; NULL if none is known. */
const struct cached_function *function_cache_find(const struct function_cache *ranges,
						  uint64_t offset);

/* Returns the range's name, borrowed; NULL if it has none. */
const char *function_cache_name(const struct function_cache *ranges,
				const struct cached_function *range);

/* Adds answers of native_resolve(). Returns 0; or -ENOSPC or -ENOMEM, then *ranges is unchanged. */
int function_cache_add(struct function_cache *ranges, const struct native_function *functions,
		       size_t count, const struct buf *names);
