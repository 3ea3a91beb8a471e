/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Unwind tables in the arena: one for each distinct content, shared by all files that have it and
 * all processes that map them. They are built by jobs, from files that targets may own.
 *
 * All functions are for the loop's thread.
 */
#pragma once

#include "file/symbol_file.h"
#include "unwind/arena.h"
#include "python/cpython.h"
#include "java/vm/hotspot.h"
#include "unwind/image.h"

struct tables;
struct table; /* what is known of one file's code */

/* `worker` reads and builds, one file after the other. changed(arg) is called when tables that were
 * pending no longer are, at most every 10 ms while others follow. -ENOMEM */
int tables_new(struct tables **ret, struct worker *worker, void (*changed)(void *arg), void *arg);
/* When its worker was stopped and the loop has run what was posted. */
void tables_free(struct tables *tables);

/* Where tables lie from now on; NULL: nowhere (the kernel's side is gone). The tables in the arena
 * before are forgotten, without touching it; those that are referred to are built anew. */
void tables_set_arena(struct tables *tables, struct arena *arena);

/* The caller gets a reference; NULL: no memory. A file whose table isn't known begins to be read;
 * `place` is where it can be opened. */
struct table *tables_get(struct tables *tables, struct symbol_file *file,
			 const struct symbol_place *place);
struct table *table_ref(struct table *table);
void table_unref(struct table *table);

/* Its table is on its way. */
bool table_is_pending(const struct table *table);

/* Fills in base, index and what of a span, of a mapping from span->start to span->end that begins
 * with the file's byte `file_offset`. Counts as use. */
void table_span(struct tables *tables, struct table *table, uint64_t file_offset,
		struct span *span);

/* The CPython in that file, and where its linked addresses lie (that plus *bias) by a mapping as
 * above; `file` is the process's. Borrowed as long as the table isn't built anew; NULL: there is
 * none, or it isn't known yet. */
const struct cpython_file *table_python(const struct table *table, const struct symbol_file *file,
					uint64_t file_offset, const struct span *span,
					uint64_t *bias);

/* The same of a Java VM. */
const struct hotspot_file *table_hotspot(const struct table *table, uint64_t file_offset,
					 const struct span *span, uint64_t *bias);

/* A stack went through code of that file; nothing where the table is another's. */
void table_used_by(struct table *table, const struct symbol_file *file);

/* After each window: no program reads any more what was given back before (arena_settle()),
 * tables that nobody refers to for a whole window go, and what could not be read or found no room
 * is tried again, after 1, 2, 4 … windows. */
void tables_sweep(struct tables *tables);

/* Makes room for so many words, what was given back already among them: lets go of tables that were
 * used least recently, even of such that processes have (their spans become SPAN_NO_TABLE at the
 * next table_span(); changed() is called). The words are free after the next arena_settle(). False:
 * there is nothing to let go. */
bool tables_evict(struct tables *tables, size_t words);

struct tables_stats {
	uint64_t tables, rows, bytes; /* there are now */
	uint64_t pending;
	uint64_t built, shared;	   /* since the start: made; found to be another's content */
	uint64_t evicted, refused; /* since the start: let go for room; found no room */
	uint64_t failed;	   /* since the start: can't be read, broken */
	uint64_t bare;		   /* since the start: files without CFI */
	uint64_t pythons_late;	   /* since the start: found when the table was there already */
	uint64_t unsupported[UNSUPPORTED_COUNT]; /* rows there are now */
	struct arena_stats arena;
};
void tables_stats(const struct tables *tables, struct tables_stats *stats);
