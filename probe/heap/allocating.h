/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Code of an allocator, by its names: what it maps for itself is counted by what it hands out.
 * Names are those of the C library, C++, jemalloc and tcmalloc.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* "malloc", "je_calloc", "operator new(unsigned long)" … */
bool allocating_function(const char *name, size_t len);

/* The last part of a path: "libjemalloc.so.2". NULL: it isn't. */
bool allocating_module(const char *module);

struct allocating_frame {
	const char *name;
	size_t len;
	const void *file;   /* only compared; NULL: none */
	const char *module; /* of the file */
};

/*
 * Whether the `above`-th frame (1: the caller) above `leaf`, which is mmap or its kin, tells that
 * an allocator or the C library mapped it for itself. The C library calls it within itself; a
 * program that has it inside (`program` is its file, NULL: unknown) is told by names alone.
 */
bool allocating_above(const struct allocating_frame *leaf, const struct allocating_frame *frame,
		      size_t above, const void *program);
