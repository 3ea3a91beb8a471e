/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Spans: a process's mappings in the form that the unwinder reads (struct span,
 * bpf/shared/packed.h). They are a run of words in the arena, never changed once the kernel's side
 * knows it, and shared with forked processes. They hold references to the tables of the mapped
 * files. Behind the mappings lie the walker's settings for the process's Java VM
 * (bpf/shared/hotspot_tables.h) and CPython (bpf/shared/cpython_layout.h), if it has them. Loop
 * thread only.
 *
 * A Java VM's code cache is one span for all that is reserved for it in a row, as it grows in
 * there. A mapping of other made code is cut where there are rows for a part of it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "runtime/runtime.h"
#include "mappings/address_space.h"
#include "jit/jit_rows.h"
#include "unwind/tables.h"

struct spans {
	unsigned refs;
	bool has_made;	       /* there is code made at run time */
	uint32_t start, count; /* of struct target_value; 0: it has none */
	uint32_t number;       /* of struct target_value */
	bool pending;	       /* some of its tables aren't there yet */
	uint32_t words;	       /* words of the arena that it takes */
	struct arena *arena;
	struct table **tables; /* of the mapped files; NULL where there is none */
	size_t tables_count;
	struct {
		bool is_there; /* a mapped file has it */
		/* struct cpython or hotspot in the arena; 0: none, or not known yet */
		uint32_t walk;
	} runtimes[RUNTIMES];
};

/* Sources of rows of a process's made code, the first one that has some counts: what it tells
 * debuggers, and its jitdump. */
#define SPANS_MADE 2

struct spans_made {
	const struct jit_rows *rows; /* NULL: there are none */
	struct table *table;	     /* where they are */
};

struct spans_of {
	const struct address_space *space;
	pid_t pid; /* of the process that has these mappings */
	/* of the process; NULL: not known */
	const struct cpython *python;
	const struct hotspot *hotspot;
	struct spans_made made[SPANS_MADE]; /* borrowed */
};

/*
 * Writes the present mappings of a space; requests tables that aren't there. `found` says which
 * runtimes were found, and where. Returns 0 and a reference, or -ENOMEM, or -ENOSPC if the arena
 * has no room.
 */
int spans_write(struct spans **ret, struct arena *arena, struct tables *tables,
		const struct spans_of *of, struct runtime_place found[RUNTIMES]);

struct spans *spans_ref(struct spans *spans);
void spans_unref(struct spans *spans);

/* Notes that the table of a file was used: a stack went through its code. */
void spans_used(const struct spans *spans, const struct symbol_file *file);

/* Asks for rows made from the code at that byte of the file; returns whether that is new
 * (unwind/tables.h). */
bool spans_want_made(const struct spans *spans, const struct symbol_file *file,
		     uint64_t file_offset);

/* Returns whether a table has made rows at all, and at that byte of the file. */
bool spans_have_made(const struct spans *spans);
bool spans_are_made(const struct spans *spans, const struct symbol_file *file,
		    uint64_t file_offset);

/* Returns whether both are the same for the unwinder. */
bool spans_are_equal(const struct spans *a, const struct spans *b);
