/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recognizes an allocator's own frames by name (C library, C++, jemalloc, tcmalloc). What an
 * allocator maps for itself is not counted again: the allocations handed out of it are.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Returns whether the function is an allocator's: "malloc", "operator new(unsigned long)" … */
bool allocating_function(const char *name, size_t len);

/* Returns whether the module ("libjemalloc.so.2", may be NULL) is jemalloc's or tcmalloc's. */
bool allocating_module(const char *module);

struct allocating_frame {
	const char *name;
	size_t len;
	const void *file;   /* the file of the code; only compared; NULL: none */
	const char *module; /* last part of the file's path; NULL: none */
};

/*
 * Returns whether `frame` shows that an allocator or the C library mapped memory for itself: `leaf`
 * is the frame of mmap or its kin, `frame` lies `above` frames above it (1: the caller). A caller
 * within the leaf's own file is the C library, unless that file is `program` (linked statically;
 * NULL: unknown); all other frames are judged by name.
 */
bool allocating_above(const struct allocating_frame *leaf, const struct allocating_frame *frame,
		      size_t above, const void *program);
