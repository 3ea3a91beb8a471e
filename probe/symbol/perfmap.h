/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Registry of perf maps, the symbol tables of JIT code. A program that makes code (node, .NET,
 * LuaJIT, Julia …) appends each function to /tmp/perf-PID.map, below its own root and by its pid in
 * its own pid namespace, as a line:
 *
 *	START SIZE name		hexadecimal numbers
 *
 * No line tells when it was written, and code is replaced by other code at the same address. So for
 * a window count: the last line for an address that was there before the window, and all later
 * lines. The address has a name if these lines agree.
 *
 * The maps belong to the registry of file/symbol_file.h and are read in its rounds. Loop thread
 * only, except where said.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"

#define PERFMAP_NAME_MAX  1024 /* bytes; the rest of a longer name is left out */
#define PERFMAP_BYTES_MAX (256u << 20)

struct perfmap;
struct symbol_files;

/* A process, from one exec to the next. */
struct perfmap_process {
	pid_t pid;
	uint64_t start_ticks;
	uint64_t id;	/* of the incarnation: another one after an exec */
	uint64_t whose; /* the process's user, job_of() */
};

/* Tells that the process has made code: its map is opened early, in a job, as the process may end
 * any time. */
void perfmap_meet(struct symbol_files *files, const struct perfmap_process *process);

/* Returns whether the process has written a map, as far as is known. */
bool perfmap_is_there(const struct symbol_files *files, const struct perfmap_process *process);

/* Returns the process's map, in a round; borrowed until the next round. NULL if there is no room
 * for more maps. */
struct perfmap *perfmap_of(struct symbol_files *files, const struct perfmap_process *process);

/* Asks for the name of an address; in a round, once for each address. An address that can't be
 * asked for is counted as lost; so is each one of a NULL map. */
void perfmap_ask(struct symbol_files *files, struct perfmap *map, uint64_t address);

/* Returns the name of an address, after the round's reading; valid until the round ends. NULL if
 * the address has none. Any thread. */
const char *perfmap_find(const struct perfmap *map, uint64_t address, size_t *len);

/* ---- perfmap_open.c, in a job ---- */

struct perfmap_found {
	uint64_t device, inode, bytes;
	uint64_t program; /* proc_program() of the process; 0: unknown */
	/* The map was made before the process started; or, if the process runs another program than
	 * `program` was, before the exec. (The time of the last change is taken if the file system
	 * has no time of birth.) */
	bool is_older;
};

/* Opens the process's map and sets *found; found->program is the last known program. Returns a
 * descriptor that the caller owns, or a negative errno: -EPERM if the map is no regular file of the
 * process's own user (such a file is never opened); -ESRCH; an errno of opening. */
int perfmap_open(const struct perfmap_process *process, struct perfmap_found *found);

/* ---- perfmap_read.c, in a job ---- */

struct perfmap_question {
	uint64_t address;
	uint64_t at;   /* the name's offset in the file */
	uint64_t hash; /* of the name */
	uint32_t len;  /* of the name; 0: no name */
	bool torn;     /* lines that count disagree */
	bool stale;    /* a line that doesn't count has a name */
	size_t name;   /* the name's offset in `names` */
};

struct perfmap_lookup {
	uint64_t from;			    /* lines that begin before this offset don't count */
	uint64_t settled;		    /* bytes that were there before the window */
	struct perfmap_question *questions; /* sorted by address */
	size_t count;
	uint64_t until_ns;  /* of loop_now_ns(); 0: no limit */
	uint64_t bytes_max; /* bytes that may be read; 0: no limit */

	/* the answer */
	uint64_t bytes; /* bytes that were read */
	uint64_t end;	/* offset behind the file's last whole line */
	struct buf names;
	uint64_t stale, no_room; /* addresses without a name for that reason */
};

/* Looks up the questions in the open map. Returns 0, or a negative errno, and then no name is
 * valid: -EFBIG or -E2BIG if the map is too large; -ETIME if the limit of bytes or of time is
 * reached; -ENOMEM; an errno of reading. */
int perfmap_read(int fd, struct perfmap_lookup *lookup);

/* Sets *end to the offset behind the open map's last whole line. Returns 0, -ENOMEM, or an errno of
 * reading. */
int perfmap_end(int fd, uint64_t *end);
