/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is known of a file's functions: those that were asked for, each for the stretch of the file
 * on which the answer holds. Stretches don't overlap.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "elf/native.h"

struct range {
	uint64_t from, to; /* file offsets */
	uint64_t address;  /* the function's, as the file was linked */
	uint32_t name;	   /* in names; NATIVE_NO_NAME */
};

struct ranges {
	struct range *each; /* by file offset */
	size_t count, capacity;
	struct buf names;
};

void ranges_done(struct ranges *ranges);
size_t ranges_bytes(const struct ranges *ranges);

/* NULL: nothing is known of that place. */
const struct range *ranges_find(const struct ranges *ranges, uint64_t offset);

/* NULL: it has none. */
const char *ranges_name(const struct ranges *ranges, const struct range *range);

/* Adds answers of native_resolve(). -ENOSPC, -ENOMEM: all is as before. */
int ranges_add(struct ranges *ranges, const struct native_function *functions, size_t count,
	       const struct buf *names);
