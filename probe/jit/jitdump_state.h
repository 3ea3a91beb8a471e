/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by jitdump.c (what is known), jitdump_build.c (functions come and go) and jitdump_rows.c
 * (their unwind rows). Only these include it. */
#pragma once

#include <stdatomic.h>

#include "base/map.h"
#include "jit/jitdump.h"
#include "jit/jitdump_record.h"

#define JITDUMP_RULES_MAX 1024 /* distinct ones; a function that needs more has no rows */
#define JITDUMP_ROWS_OF	  UINT16_MAX

struct jitdump_function {
	uint64_t start, index;
	uint64_t from_ns, until_ns; /* until_ns 0: it is there */
	uint32_t bytes;
	uint32_t name; /* offset in `names` */
	uint16_t name_len, rows_count;
	uint32_t rows_first;
};

/* A row of a function, `at` bytes behind its start. */
struct jitdump_row {
	uint32_t at, rule; /* rule: its number */
};

struct jitdump {
	atomic_uint refs;
	uint64_t whose;
	size_t memory;			    /* taken of what is `whose` */
	struct jitdump_function *functions; /* by address, none over another one */
	size_t count, room;
	struct jitdump_function *gone; /* by address, then by time */
	uint64_t *gone_ends;	       /* the largest end of those up to each */
	size_t gone_count, gone_room;
	struct buf names;
	struct jitdump_row *rows;
	size_t rows_count, rows_room;
	struct rule *rules;
	size_t rules_count, rules_room;
	uint64_t rows_version; /* changes with the rows of what is there */
	bool had_rows;
	uint64_t frames_at, frames_bytes; /* .eh_frame of the next function; 0 bytes: none */
	uint64_t at;			  /* where reading goes on */
	bool has_more;
	uint64_t last_ns; /* the latest time of a record */
	uint64_t lost[JIT_LOST_COUNT];
};

/* A dump that is being read on. */
struct jitdump_building {
	struct jitdump *dump;		  /* its functions may have ended (until_ns), for now */
	struct jitdump_function *pending; /* later functions, by address */
	size_t pending_count;
	struct demangling demangling;
	struct map *rules; /* struct rule -> number + 1; NULL: not made yet */
	uint64_t now_ns;
	size_t garbage; /* bytes of names and rows that nobody refers to */
	int fd;
	pid_t pid;
};

static inline uint64_t jitdump_end(const struct jitdump_function *function)
{
	return function->start + function->bytes;
}

/* ---- jitdump_build.c ---- */

/* Begins with a copy of what is known (NULL: nothing). Returns 0 or -ENOMEM;
 * jitdump_building_done() in any case. */
int jitdump_building_begin(struct jitdump_building *building, const struct jitdump *before);
void jitdump_building_done(struct jitdump_building *building);

/* Takes a record. Returns 0 or -ENOMEM. */
int jitdump_building_take(struct jitdump_building *building, const struct jitdump_record *record);

/* Ends it: the dump is complete. Returns 0 or -ENOMEM. */
int jitdump_building_end(struct jitdump_building *building);

/* Returns the bytes that the dump takes. */
size_t jitdump_bytes(const struct jitdump *dump);

/* ---- jitdump_rows.c ---- */

/* Reads the function's rows from the file's .eh_frame that came before it. Without any that make
 * sense the function has none. Returns 0 or -ENOMEM. */
int jitdump_rows_read(struct jitdump_building *building, struct jitdump_function *function);
