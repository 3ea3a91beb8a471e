/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A process's mappings as the unwinder has them (struct span, bpf/shared/packed.h): a run of the
 * arena, never changed once it is told to the kernel; shared with processes that it forks. It keeps
 * the tables of the files that are mapped. Behind the mappings lies what the walker has to know of
 * the process's Java VM (bpf/shared/hotspot_tables.h) and of its CPython
 * (bpf/shared/cpython_layout.h), where it has them.
 *
 * A Java VM's code cache is one span for all that is reserved for it in a row: it grows in there.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "target/address_space.h"
#include "unwind/tables.h"

struct spans {
	unsigned refs;
	uint32_t start, count; /* struct target_value; 0: it has none */
	uint32_t number;       /* struct target_value */
	bool pending;	       /* some of its tables are on their way */
	uint32_t words;	       /* that it takes */
	struct arena *arena;
	struct table **tables; /* of its files, NULL where there is none */
	size_t tables_count;
	uint32_t python;  /* struct target_value; 0: it has none, or that isn't known yet */
	bool has_python;  /* one of its files has a CPython */
	uint32_t hotspot; /* the same of a Java VM */
	bool has_hotspot;
};

/* A mapping of a file that has a CPython, which was found meanwhile. */
struct spans_python {
	const struct cpython_file *found; /* borrowed from the table; NULL: there is none */
	struct symbol_file *file;	  /* borrowed from the space */
	uint64_t bias;
};

/* The same of a Java VM. */
struct spans_hotspot {
	const struct hotspot_file *found;
	struct symbol_file *file;
	uint64_t bias;
};

struct spans_found {
	struct spans_python python;
	struct spans_hotspot hotspot;
};

struct spans_of {
	const struct address_space *space;
	pid_t pid;		       /* has these mappings */
	const struct cpython *python;  /* of the process; NULL: none is known */
	const struct hotspot *hotspot; /* the same */
};

/* Writes the mappings that a space has now; asks for tables that aren't there. *found tells which
 * runtimes were found. -ENOMEM, -ENOSPC: the arena has no room. */
int spans_write(struct spans **ret, struct arena *arena, struct tables *tables,
		const struct spans_of *of, struct spans_found *found);

struct spans *spans_ref(struct spans *spans);
void spans_unref(struct spans *spans);

/* A stack of the process went through code of that file: its table was used. */
void spans_used(const struct spans *spans, const struct symbol_file *file);

/* Whether both say the same to the unwinder. */
bool spans_are_equal(const struct spans *a, const struct spans *b);
