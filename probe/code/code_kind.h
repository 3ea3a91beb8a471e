/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A kind of code whose names are read from the memory of its process: what code/code_cache has to
 * know of it. A frame of such code is a pair of words of a stack, wherever these lie; a *piece* is
 * what is known of its code once it was read.
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

/* What pieces of a process are told apart by. */
struct code_key {
	uint64_t address;
	uint64_t sum; /* 32 bits, and what else the kind likes */
};

/* Looks for pairs in a stack's words. */
struct code_cursor {
	const uint64_t *words;
	size_t count;
	size_t at, behind; /* the kind's own; 0 at first */
};

struct code_kind {
	enum code_kind_number number;

	/* The frame that comes next, and the key of its piece. False: there is none. */
	bool (*next)(struct code_cursor *cursor, uint64_t pair[2], struct code_key *key);

	/* What `read` has to know of the process, so many bytes; NULL: only whether there is any.
	 * False: its frames aren't walked. */
	bool (*layout)(const struct target *target, void *to);
	size_t layout_bytes;
	/* Drops what it refers to, on either thread. NULL: that is nothing. */
	void (*release)(void *layout);

	/* On a worker. *piece has one reference. Errors as pycode_read() has them. */
	int (*read)(void **piece, const void *layout, const struct process_memory *memory,
		    const uint64_t pair[2]);

	/* Whether the piece has what that pair asks for; else it is to be read again. */
	bool (*has)(const void *piece, const uint64_t pair[2]);

	/* Of what it says, and whether two say the same: then it is kept once for all processes.
	 * Both NULL: each has its own. */
	uint64_t (*hash)(const void *piece, uint64_t seed);
	bool (*is_equal)(const void *a, const void *b);

	size_t (*bytes)(const void *piece);
	void (*unref)(void *piece);
};
