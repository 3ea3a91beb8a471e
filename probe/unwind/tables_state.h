/* SPDX-License-Identifier: GPL-2.0-only */
/* What unwind/tables.c (files and their tables), unwind/table_build.c, table_search.c (the jobs)
 * and unwind/content.c (what lies in the arena) share. Nobody else includes it. */
#pragma once

#include "base/map.h"
#include "file/hung.h"
#include "file/opening.h"
#include "python/cpython.h"
#include "java/vm/hotspot.h"
#include "unwind/tables.h"

/* A table in the arena, which files of equal content share. */
struct content {
	uint64_t checksum;
	uint32_t start, index, blocks;
	size_t words; /* from start on */
	uint64_t low;
	bool tracks_bx;
	uint64_t rows, unsupported[UNSUPPORTED_COUNT];
	size_t holders; /* tables that have it */
	size_t wanted;	/* of these, with a reference */
	uint64_t last_used;
	struct content *next;
};

enum table_state {
	TABLE_UNASKED, /* there was no arena, or nobody who wanted it */
	TABLE_QUEUED,  /* waits for its job, or that is under way */
	TABLE_THERE,
	TABLE_BARE,    /* no ELF file, or one without CFI */
	TABLE_BROKEN,  /* can't be had, and won't become better */
	TABLE_UNREAD,  /* it could not be read this time */
	TABLE_HOMELESS /* it found no room, or was let go for others */
};

struct table {
	struct tables *tables; /* NULL: they are gone */
	size_t refs;
	bool registered; /* in by_id */
	bool building;	 /* a job has it */
	bool forsaken;	 /* nobody had it when the last window ended */
	enum table_state state;
	struct opening_id id;
	struct symbol_file *file; /* with a reference; NULL: never to be read */
	struct symbol_place place;
	struct content *content; /* TABLE_THERE */
	struct elf_segment *segments;
	size_t segments_count;
	struct cpython_file *python;	 /* NULL: there is none, or it isn't known */
	struct symbol_root *python_root; /* whose debug file says so; NULL: it counts for all */
	bool searching;			 /* a job has it (table_search.c) */
	struct hotspot_file *hotspot;	 /* NULL: there is none, or it isn't known */
	size_t words;			 /* TABLE_HOMELESS: what it needs */

	unsigned others; /* in this window: other processes that were asked */

	/* Tried in vain: `patience` sweeps until the next time, of which `waits` are left. */
	unsigned patience, waits;

	struct table *next_queued;
	struct table *next, **link; /* of all */
};

struct tables {
	struct worker *worker;
	void (*changed)(void *arg);
	void *arg;
	struct arena *arena; /* NULL: none */
	struct map *by_id;   /* opening_id -> struct table * */
	struct table *all;
	struct content *contents;
	struct table *queue, **queue_end;
	struct table *building; /* one at a time: so few descriptors and little memory are needed */
	struct hung hung;	/* files whose job was given up */
	struct hung search_hung;
	uint64_t uses;
	uint64_t told_ns;	   /* when changed() was called */
	struct tables_stats stats; /* what is counted since the start */
};

/* The linked address of a mapping's first byte; false: none of its code is there. */
bool table_address(const struct table *table, uint64_t file_offset, uint64_t bytes,
		   uint64_t *address);

/* ---- unwind/table_build.c ---- */

/* It is wanted; nothing where it is already under way. */
void table_ask(struct tables *tables, struct table *table);
void queue_clear(struct tables *tables);

/* ---- unwind/table_python.c ---- */

/* In a job: *ret is allocated; NULL: there is none. *elsewhere: a debug file that wasn't looked for
 * might tell. */
void python_look(int fd, const char *debugging_dir, struct cpython_file **ret, bool *elsewhere);
/* The same with that debug file; *ret stays if there is none. */
void python_read(int fd, int debug_fd, struct cpython_file **ret);
/* That debug file's names are read soon. */
bool python_is_brief(int debug_fd);

/* ---- unwind/table_search.c ---- */

/* Looks for a debug file that tells of a CPython; `file` is the table's. */
void python_search(struct tables *tables, struct table *table, struct symbol_file *file);

/* ---- unwind/table_hotspot.c ---- */

/* In a job: *ret is allocated; NULL: there is none. */
void hotspot_look(int fd, struct hotspot_file **ret);

/* ---- unwind/content.c ---- */

/* Puts it into the arena, or finds it there; its words are gone then. -ENOSPC: no room now,
 * -EINVAL: never, -ENOMEM, errno of adding a chunk. */
int content_get(struct tables *tables, struct content **ret, const struct table_image *image);
/* How many words of the arena it takes; and whether so many are taken as a whole. */
size_t content_words(const struct table_image *image);
bool content_is_whole(size_t words);
/* Lets go of those used least, first of those that nobody wants, until it is `words`. How many
 * words; *missed: somebody wanted one of them. */
size_t contents_evict(struct tables *tables, size_t words, bool *missed);
/* Forgets all, without touching the arena. */
void contents_forget(struct tables *tables);
void table_take_content(struct table *table, struct content *content);
void table_leave_content(struct table *table);
