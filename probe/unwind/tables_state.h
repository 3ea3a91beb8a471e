/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by unwind/tables.c (files and their tables), unwind/table_*.c (the jobs, and runtimes in
 * files) and unwind/tables_content.c (what lies in the arena). Only these include it. */
#pragma once

#include "base/map.h"
#include "file/hung_fs.h"
#include "file/open_request.h"
#include "python/cpython.h"
#include "java/vm/hotspot.h"
#include "unwind/tables.h"

/* A table in the arena, shared by the files with that content. */
struct content {
	uint64_t checksum;
	uint32_t start, index, blocks;
	size_t words; /* from start on */
	uint64_t low;
	bool tracks_bx;
	uint64_t rows, unsupported[UNSUPPORTED_COUNT];
	size_t holders; /* tables with this content */
	size_t wanted;	/* holders with a reference */
	uint64_t last_used;
	struct content *next;
};

enum table_state {
	TABLE_UNASKED, /* there was no arena, or nobody wanted the table */
	TABLE_QUEUED,  /* the table waits for its job, or the job runs */
	TABLE_THERE,
	TABLE_BARE,    /* no ELF file, or one without CFI */
	TABLE_BROKEN,  /* the file makes no sense, is only a name, or isn't registered */
	TABLE_UNREAD,  /* the file couldn't be read this time */
	TABLE_HOMELESS /* the table found no room, or was evicted */
};

/* Sorted linked addresses, each once. */
struct addresses {
	uint64_t *at;
	size_t count, room;
};

/* Where rows are wanted that are made from code, and the rows that were made so far. */
struct making {
	struct addresses known;	      /* all that were asked for */
	struct addresses asked;	      /* of these, those of the next time */
	struct addresses near;	      /* that nobody asked for yet (flow/made_rows.h) */
	bool renewing;		      /* the table is queued or built again, and in use meanwhile */
	uint64_t at_ns;		      /* not before that; CLOCK_MONOTONIC */
	uint64_t minute_ns, spent_ns; /* when a minute began, and CPU time since */
	uint64_t near_ns;	      /* CPU time since the first time */
	struct made_rows rows;
};

struct table {
	struct tables *tables; /* NULL: tables_free() was called */
	size_t refs;
	bool registered;	   /* in by_id */
	bool building;		   /* a job of table_build.c uses the table */
	bool forsaken;		   /* had no reference when the last window ended */
	bool is_known;		   /* the kernel's side knows `shown` by known_key */
	struct symbol_file *shown; /* with a reference; NULL: none may be told */
	struct known_file_key known_key;
	uint32_t known_number; /* of struct known_file; 0: none yet */
	enum table_state state;
	struct open_request_id id;
	struct symbol_file *file; /* with a reference; NULL: never read */
	struct symbol_place place;
	struct content *content; /* TABLE_THERE */
	struct elf_segment *segments;
	size_t segments_count;
	struct cpython_file *python;	 /* NULL: none, or not known yet */
	struct symbol_root *python_root; /* root of the debug file that told; NULL: for all */
	bool searching;			 /* a job of table_search.c uses the table */
	struct hotspot_file *hotspot;	 /* NULL: none, or not known yet */
	struct jit_place jit;
	bool has_luajit; /* LuaJIT's interpreter is in the file */
	size_t words;	 /* TABLE_HOMELESS: words that the table needs */

	unsigned others; /* other processes through which the file was tried in this window */

	unsigned failures; /* of building the table, in a row; 2 if the table was evicted */
	unsigned waits;	   /* sweeps until the next try */

	struct making making; /* rows made from code */

	struct table *next_queued;
	struct table *next, **link; /* list of all tables */
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
	struct table *building; /* one at a time, which saves descriptors and memory */
	struct hung_fs hung;	/* files whose building or search was given up */
	uint64_t uses;		/* counts uses of tables, as a clock */
	struct known_ops known;
	uint32_t known_numbers; /* that were given */
	uint64_t told_ns;	/* when changed() was called last; CLOCK_MONOTONIC */
	struct {
		uint64_t minute_ns, spent_ns; /* when a minute began, and CPU time since */
	} ahead;			      /* of first tables with rows made from code */
	struct tables_stats stats;	      /* the counters since the start */
};

/* Sets *address to the linked address of a mapping's first byte; returns false if the mapping holds
 * no code of the file. */
bool table_address(const struct table *table, uint64_t file_offset, uint64_t bytes,
		   uint64_t *address);

/* Returns `what` of a span of a table with that content. */
static inline uint32_t table_what(const struct content *content)
{
	return (uint32_t)SPAN_TABLE << SPAN_KIND_SHIFT | content->blocks |
	       (content->tracks_bx ? SPAN_TRACKS_BX : 0);
}

/* Returns a new table, without a reference: of no file, and broken so far. NULL without memory. */
struct table *table_new(struct tables *tables);

/* ---- unwind/table_known.c ---- */

/* Tells the kernel's side what the table is now, or that there is none any more. */
void table_show(struct table *table);
void table_hide(struct table *table);

/* ---- unwind/table_build.c ---- */

/* Queues the table for building, unless it is queued already. */
void table_ask(struct tables *tables, struct table *table);
/* Empties the queue; the result of a running job is dropped. */
void queue_clear(struct tables *tables);

/* Queues the table for building again; its present content is used meanwhile. */
void table_renew(struct tables *tables, struct table *table);

/* ---- unwind/table_made.c ---- */

/* What a job makes: with the rows that were made so far. It owns all of it; made_want_done(). */
struct made_want {
	struct made_wanted wanted;
	struct made_rows rows;
	uint64_t *addresses;
};

/* Returns whether rows may be made before a stack asks for them: of all files together there are
 * not too many yet, and making them ahead took not too long in this minute. */
bool made_has_room(struct tables *tables);
/* Takes what is to be made next. Returns 0, or -ENOMEM. */
int made_want(struct table *table, struct made_want *want);
bool made_is_empty(const struct made_want *want);
void made_want_done(struct made_want *want);
/* A table was built with these rows, which are taken over; `cpu_ns` is what that took. */
void made_take(struct table *table, struct made_rows *rows, uint64_t cpu_ns);
/* Building it failed: what was asked for is asked for again. */
void made_fail(struct table *table);
void making_done(struct making *making);

/* ---- unwind/table_python.c ---- */

/* Looks for a CPython in the open file, in a job. The caller frees *ret; NULL: none was found.
 * *elsewhere: a debug file that wasn't searched might name one. */
void python_look(int fd, const char *debugging_dir, struct cpython_file **ret, bool *elsewhere);
/* Looks for a CPython with that debug file, in a job; *ret is unchanged if there is none. */
void python_read(int fd, int debug_fd, struct cpython_file **ret);
/* Returns whether the debug file has so few names that they are read soon. */
bool python_is_brief(int debug_fd);

/* ---- unwind/table_search.c ---- */

/* Submits a job that searches a debug file that names a CPython; `file` is the table's. */
void python_search(struct tables *tables, struct table *table, struct symbol_file *file);

/* ---- unwind/table_hotspot.c ---- */

/* Looks for a Java VM in the open file, in a job. The caller frees *ret; NULL: none was found. */
void hotspot_look(int fd, struct hotspot_file **ret);

/* ---- unwind/table_jit.c ---- */

/* Looks for the descriptor of made code in the open file, in a job. */
void jit_look(int fd, struct jit_place *place);

/* ---- unwind/tables_content.c ---- */

/* Puts an image into the arena, or finds an equal content there; *ret is borrowed. Returns 0, or a
 * negative errno: -ENOSPC if there is no room now; -EINVAL if there never will be; -ENOMEM; an
 * errno of adding a chunk. */
int content_get(struct tables *tables, struct content **ret, const struct table_image *image);
/* Returns how many words of the arena an image takes; and whether so many are taken in one chunk.
 */
size_t content_words(const struct table_image *image);
bool content_is_whole(size_t words);
/* Evicts the least used contents, unwanted ones first, until their sum is `words`. Returns how many
 * words were evicted; *missed is set if one of the contents was wanted. */
size_t contents_evict(struct tables *tables, size_t words, bool *missed);
/* Forgets all contents, without touching the arena. */
void contents_forget(struct tables *tables);
void table_take_content(struct table *table, struct content *content);
void table_leave_content(struct table *table);
