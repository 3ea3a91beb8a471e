/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Perf maps: what a program that makes code tells of it (node, .NET, LuaJIT, Julia …), appended to
 * /tmp/perf-PID.map, below its own root and by the pid that it has there itself. A line each:
 *
 *	START SIZE name		hexadecimal numbers
 *
 * None tells when. Code goes, and other code takes its place: so what counts for a window is the
 * last line of those that were there before it, and each that has come since. An address has a name
 * where they agree.
 *
 * The registry is file/symbol_file.h's, and so are its rounds.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"

#define PERFMAP_NAME_MAX  1024 /* bytes; the rest of a longer one is left out */
#define PERFMAP_BYTES_MAX (256u << 20)

struct perfmap;
struct symbol_files;

/* A process, from one exec to the next. */
struct perfmap_process {
	pid_t pid;
	uint64_t start_ticks;
	uint64_t id;	/* tells it from what the process was before an exec */
	uint64_t whose; /* its user, as a job's */
};

/* It has made code: its map is opened (a job), for it may end any time. */
void perfmap_meet(struct symbol_files *files, const struct perfmap_process *process);

/* In a round: its map. Borrowed until the next round; NULL: there is no room for more. */
struct perfmap *perfmap_of(struct symbol_files *files, const struct perfmap_process *process);

/* In a round, once for each address: its name is wanted. What can't be asked is counted; NULL
 * can't. */
void perfmap_ask(struct symbol_files *files, struct perfmap *map, uint64_t address);

/* After the round's reading, on any thread. NULL: it has none. Valid until the round ends. */
const char *perfmap_find(const struct perfmap *map, uint64_t address, size_t *len);

/* ---- perfmap_open.c, in a job ---- */

struct perfmap_found {
	uint64_t device, inode, bytes;
	uint64_t program; /* tells what the process runs, from exec to exec; 0: unknown */
	/* It, or of a file system that doesn't tell when a file was made its last change, is from
	 * before the process, or from before its exec where its program isn't `program` any more.
	 */
	bool is_older;
};

/* found->program: as it was known. -EPERM: no regular file of the process's own user, it was never
 * opened; -ESRCH; the errno of opening. */
int perfmap_open(const struct perfmap_process *process, struct perfmap_found *found);

/* ---- perfmap_read.c, in a job ---- */

struct perfmap_question {
	uint64_t address;
	uint64_t at; /* of the name in the file */
	uint64_t hash;
	uint32_t len; /* 0: none */
	bool torn;    /* there are two */
	bool stale;   /* a line that doesn't count has one */
	size_t name;  /* in `names` */
};

struct perfmap_lookup {
	uint64_t from;			    /* lines that begin before don't count */
	uint64_t settled;		    /* so many bytes were there before the window */
	struct perfmap_question *questions; /* sorted by address */
	size_t count;
	uint64_t until_ns;  /* of loop_now_ns(); 0: no limit */
	uint64_t bytes_max; /* that it may read; 0: no limit */

	/* the answer */
	uint64_t bytes; /* that it read */
	uint64_t end;	/* how far the file is written, in whole lines */
	struct buf names;
	uint64_t stale, no_room; /* addresses that have no name for it */
};

/* Reads the open map. -EFBIG, -E2BIG: it is too much to read; -ETIME: more than it may, or longer;
 * -ENOMEM; errno of reading. No name counts then. */
int perfmap_read(int fd, struct perfmap_lookup *lookup);

/* How far the open map is written, in whole lines. errno of reading, -ENOMEM. */
int perfmap_end(int fd, uint64_t *end);
