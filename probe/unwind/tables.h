/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Registry and cache of unwind tables in the arena: one table for each distinct content, shared by
 * all files with that content and all processes that map them. Jobs build the tables, from files
 * that targets may own. Least recently used tables are evicted. Loop thread only.
 */
#pragma once

#include "file/symbol_file.h"
#include "bpf/shared/known_files.h"
#include "unwind/arena.h"
#include "python/cpython.h"
#include "java/vm/hotspot.h"
#include "unwind/image.h"

struct tables;
struct table; /* one file's unwind table, and the runtimes in the file */

/* Returns 0 or -ENOMEM. `worker` reads files and builds tables, one after the other. changed(arg)
 * is called when pending tables no longer are, at most every 10 ms while others follow. */
int tables_new(struct tables **ret, struct worker *worker, void (*changed)(void *arg), void *arg);
/* Call this when the worker was stopped and the loop has run what was posted. */
void tables_free(struct tables *tables);

/* Sets the arena; NULL: none (the kernel's side is gone). Tables in the old arena are forgotten,
 * without touching that arena; tables that are referred to are built again. */
void tables_set_arena(struct tables *tables, struct arena *arena);

/* Returns a reference to the file's table; NULL without memory. If the table isn't known, the file
 * begins to be read; `place` says where the file can be opened. */
struct table *tables_get(struct tables *tables, struct symbol_file *file,
			 const struct symbol_place *place);
struct table *table_ref(struct table *table);
void table_unref(struct table *table);

/* What tells the kernel's side of files that have tables. put() returns 0 or a negative errno. */
struct known_ops {
	int (*put)(void *arg, const struct known_file_key *key, const struct known_file *file);
	void (*drop)(void *arg, const struct known_file_key *key);
	void *arg;
};

/* Has files told from now on, while there is an arena. */
void tables_tell_known(struct tables *tables, const struct known_ops *ops);

/* Returns the file that was told by that number, borrowed; NULL: its table is gone. */
struct symbol_file *tables_known(const struct tables *tables, uint32_t number);

/* Returns whether the table is being built. */
bool table_is_pending(const struct table *table);

/* Fills in base, index and what of *span, for a mapping from span->start to span->end that begins
 * with the file's byte `file_offset`. Counts as a use of the table. */
void table_span(struct tables *tables, struct table *table, uint64_t file_offset,
		struct span *span);

/* Returns the CPython in the file, borrowed until the table is built again; NULL if there is none
 * or it isn't known yet. The mapping is given as for table_span(): a linked address lies at address
 * + *bias. `file` is the process's. */
const struct cpython_file *table_python(const struct table *table, const struct symbol_file *file,
					uint64_t file_offset, const struct span *span,
					uint64_t *bias);

/* Returns the Java VM in the file, as table_python() returns a CPython. */
const struct hotspot_file *table_hotspot(const struct table *table, uint64_t file_offset,
					 const struct span *span, uint64_t *bias);

/* Where a file has the descriptor of the code that a program tells debuggers of (jit/jit_list.h);
 * the linked address. */
struct jit_place {
	uint64_t descriptor; /* 0: it has none */
	uint64_t known;	     /* jit_code_sum() of what a process was seen to have there; 0: none */
};

/* Returns the descriptor in the file, as table_python() returns a CPython. */
const struct jit_place *table_jit(const struct table *table, uint64_t file_offset,
				  const struct span *span, uint64_t *bias);

/* Returns whether LuaJIT's interpreter is in the file: its processes may have code that LuaJIT
 * made.
 */
bool table_has_luajit(const struct table *table);

/* Returns a reference to a table of rows that no file has; NULL: there is no room in the arena, or
 * no memory. If it is evicted, nobody builds it again. */
struct table *tables_give(struct tables *tables, const struct table_image *image);

/* Returns whether the table's rows are in the arena. */
bool table_is_there(const struct table *table);

/* Fills in base, index and what of *span, whose start lies at that address of the table. Counts as
 * a use of the table. */
void table_span_at(struct tables *tables, struct table *table, uint64_t address, struct span *span);

/* Counts a use of the table, as a stack went through the file's code; does nothing if the table
 * belongs to another file. */
void table_used_by(struct table *table, const struct symbol_file *file);

/* Returns whether the table is that of the file. */
bool table_is_of(const struct table *table, const struct symbol_file *file);

/* Asks for rows made from the code at that byte of the table's file, where the file's own rows say
 * nothing: a stack was cut there. Returns whether that is new. */
bool table_want_made(struct table *table, uint64_t file_offset);

/* Has tables built again, with the made rows that are wanted; returns when it is to be called next
 * (CLOCK_MONOTONIC), 0: when something is wanted. A file takes at most 2 s of CPU time a minute. */
uint64_t tables_make_rows(struct tables *tables);

/* Returns whether there are made rows at all, and at that byte of the table's file. */
bool table_has_made(const struct table *table);
bool table_is_made(const struct table *table, uint64_t file_offset);

/* Call this after each window, when no BPF program reads any more what was given back before the
 * last call (arena_settle()). Removes tables to which nobody referred for a whole window; tries
 * again tables that couldn't be read or found no room, after 1, 2, 4 … windows. */
void tables_sweep(struct tables *tables);

/* Makes room for `words`, including words given back already: evicts the least recently used
 * tables, even those that processes use (their spans become SPAN_NO_TABLE at the next table_span();
 * changed() is called). The words are free once arena_settle() freed them. Returns false if there
 * is no table to evict. */
bool tables_evict(struct tables *tables, size_t words);

struct tables_stats {
	uint64_t tables, rows, bytes; /* present */
	uint64_t pending;	      /* present */
	uint64_t made_functions;      /* present: functions whose rows were made from code */
	uint64_t made_refused;	      /* present: places whose function isn't understood */
	/* Since the start: */
	uint64_t built, shared;	   /* contents made; found in the arena already */
	uint64_t evicted, refused; /* contents evicted; tables that found no room */
	uint64_t failed;	   /* files that are broken or can't be read */
	uint64_t bare;		   /* files without CFI */
	uint64_t pythons_late;	   /* CPythons found after the table was built */
	uint64_t made;		   /* tables built again with rows made from code */
	/* Present again: */
	uint64_t unsupported[UNSUPPORTED_COUNT]; /* rows */
	struct arena_stats arena;
};
void tables_stats(const struct tables *tables, struct tables_stats *stats);

/* Rows of struct tables_stats (measure/measure.h). */
extern const struct measures unwind_measures;
