/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A kind of code whose names are read from the memory of its process: the operations that the cache
 * (code/code_cache.h) needs. A frame of such code is a pair of words of a stack, wherever these
 * lie; a *piece* is what is known of a code object or method once it was read.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proc/process_memory.h"

struct target;

enum code_kind_number {
	CODES_PYTHON, /* code objects: code/code_python.c */
	CODES_JAVA,   /* code of Java VMs: code/code_java.c */
	CODES_KINDS
};

/* Identifies a piece within a process. */
struct code_key {
	uint64_t address;
	uint64_t sum; /* a 32-bit sum; a kind may use the upper bits */
};

/* A piece that a search looks for, and what became of the search. */
struct code_sought {
	struct code_key key;
	void *piece; /* the whole piece, one reference; NULL: it wasn't found */
};

struct code_searched {
	uint64_t took_ns; /* CPU time */
	bool cut;	  /* a limit was reached */
	int error;	  /* 0, or a negative errno: the process can't be read */
};

/* Iterator over the pairs in a stack's words. */
struct code_cursor {
	const uint64_t *words;
	size_t count;
	size_t at, behind; /* positions, private to the kind; 0 at first */
};

struct code_kind {
	enum code_kind_number number;

	/* Returns the next frame's pair, and the key of its piece. False: there is none. */
	bool (*next)(struct code_cursor *cursor, uint64_t pair[2], struct code_key *key);

	/*
	 * Writes what `read` needs to know of the process, layout_bytes long. `to` NULL: only the
	 * answer is wanted. False: the process's frames aren't walked.
	 */
	bool (*layout)(const struct target *target, void *to);
	size_t layout_bytes;
	/* Drops references in the layout, on either thread. NULL: there are none. */
	void (*release)(void *layout);

	/*
	 * Reads a piece, on a worker. The caller owns the one reference of *piece. Errors are those
	 * of pycode_read().
	 */
	int (*read)(void **piece, const void *layout, const struct process_memory *memory,
		    const uint64_t pair[2]);

	/* Returns whether the piece knows what the pair asks for; else it is read again. */
	bool (*has)(const void *piece, const uint64_t pair[2]);

	/*
	 * Returns whether a piece lacks what a search of the whole process may find, and searches
	 * once for all of `sought`. On a worker; takes some 250 ms of CPU time at most. Both NULL:
	 * pieces lack nothing.
	 */
	bool (*is_alone)(const void *piece);
	void (*search)(struct code_sought *sought, size_t count, const void *layout,
		       const struct process_memory *memory, struct code_searched *result);

	/*
	 * Hash and equality of contents: equal pieces are kept once for all processes. Both NULL:
	 * each process has its own.
	 */
	uint64_t (*hash)(const void *piece, uint64_t seed);
	bool (*is_equal)(const void *a, const void *b);

	size_t (*bytes)(const void *piece);
	void (*unref)(void *piece);
};
