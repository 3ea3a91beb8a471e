/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kinds of allocators that are told apart. */
#pragma once

enum allocator_kind {
	ALLOCATOR_NONE, /* the file defines no malloc and free */
	ALLOCATOR_GLIBC,
	ALLOCATOR_MUSL,
	ALLOCATOR_JEMALLOC,
	ALLOCATOR_TCMALLOC,
	ALLOCATOR_OTHER, /* known by its functions' names only */
	ALLOCATOR_COUNT
};

/* Returns "glibc", "musl", "jemalloc", "tcmalloc", "other" or "none". */
const char *allocator_name(enum allocator_kind kind);
