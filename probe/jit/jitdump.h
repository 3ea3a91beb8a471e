/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The code that a program told of in its jitdump (jit/jitdump_record.h), as far as the file was
 * read: which function lay at an address at which time, and its unwind rows. A later function that
 * lies over an earlier one, if only by a byte, ends it. What was read once doesn't change: reading
 * on makes another one. Any thread may hold it.
 */
#pragma once

#include "jit/jit_code.h"

#define JITDUMP_GONE_MAX 4096 /* functions that have ended and are remembered */
#define JITDUMP_GONE_NS	 (600 * NS_PER_S)

struct jitdump;

struct jitdump *jitdump_ref(struct jitdump *dump); /* NULL for NULL */
void jitdump_unref(struct jitdump *dump);	   /* NULL is allowed */

struct jitdump_source {
	int fd;
	pid_t pid;	 /* of the process, in its own pid namespace */
	uint64_t whose;	 /* whose memory is taken (jit/jit_memory.h) */
	uint64_t now_ns; /* CLOCK_MONOTONIC; no record can be later */
};

/*
 * Reads on where `before` has ended (NULL: from the file's begin), for some CPU time at most. In a
 * job. Returns 0, and the caller owns *ret, which is `before` if there is nothing new; or a
 * negative errno: as jitdump_reader_begin(); -EBADMSG if a record makes no sense; -ESTALE if the
 * file has shrunk; -ENOSPC if there is no memory left to be taken; -ENOMEM.
 */
int jitdump_read(struct jitdump **ret, struct jitdump *before, const struct jitdump_source *source);

/* Returns whether there was no time to read all that was there. */
bool jitdump_has_more(const struct jitdump *dump);

/* Returns the name of the function that lay at the address at `from_ns`, *len bytes, as people
 * read it; NULL: none is known, or one of another name lay there until `until_ns`. It is valid as
 * long as the dump. */
const char *jitdump_find(const struct jitdump *dump, uint64_t address, uint64_t from_ns,
			 uint64_t until_ns, size_t *len);

/* Returns how many functions are there now; how many records were left out for that reason. */
size_t jitdump_functions(const struct jitdump *dump);
uint64_t jitdump_lost(const struct jitdump *dump, enum jit_loss loss);

/* Returns whether some record told of unwind rows; whether the rows of `dump` may be others than
 * those of `before`, which it was read on from. */
bool jitdump_has_rows(const struct jitdump *dump);
bool jitdump_rows_differ(const struct jitdump *dump, const struct jitdump *before);

/* Makes a table of the rows of all functions that are there now; in a job. Returns as
 * jit_rows_make(). */
int jitdump_make_rows(const struct jitdump *dump, struct jit_rows *rows);
