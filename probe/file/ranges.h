/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sorted array of a file's known functions: those that were asked for, each with the range of file
 * offsets for which the answer holds. Ranges don't overlap.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "elf/native.h"

struct range {
	uint64_t from, to; /* file offsets */
	uint64_t address;  /* of the function, as the file was linked */
	uint32_t name;	   /* offset in ranges.names, or NATIVE_NO_NAME */
};

struct ranges {
	struct range *each; /* sorted by file offset */
	size_t count, capacity;
	struct buf names;
};

void ranges_done(struct ranges *ranges);
size_t ranges_bytes(const struct ranges *ranges);

/* Returns the range that holds a file offset; NULL if none is known. */
const struct range *ranges_find(const struct ranges *ranges, uint64_t offset);

/* Returns the range's name, borrowed; NULL if it has none. */
const char *ranges_name(const struct ranges *ranges, const struct range *range);

/* Adds answers of native_resolve(). Returns 0; or -ENOSPC or -ENOMEM, then *ranges is unchanged. */
int ranges_add(struct ranges *ranges, const struct native_function *functions, size_t count,
	       const struct buf *names);
