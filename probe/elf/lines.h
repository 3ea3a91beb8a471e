/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Source lines and inlined functions at addresses of a file. The file's DWARF is read by a child
 * process (line_reader/) that has the rights of the user nobody, and limits.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* One function at an address: the function whose code is there, or one that is inlined there. */
struct line_text {
	const char *file, *name; /* borrowed from the struct lines; no NUL behind them */
	size_t file_len;	 /* 0: file unknown */
	size_t name_len;	 /* of the linker's name; 0: the outermost function's name */
	uint32_t line;		 /* 0: line unknown */
};

/* The answers for a set of addresses of one file; immutable, shared by references. */
struct lines;

/*
 * Reads the lines at `addresses` (as linked, rising, LINES_MAX at most) of the file `fd`; `alt_fd`
 * is the file that it shares with others (dwz), or -1. *ret has the answers that the reader gave
 * within `limit_ms`; *whole: the reader came to its end. Call this in a job: it waits for the
 * reader. Returns 0, or a negative errno: -ENOMEM; -EAGAIN if too many children wait to be reaped;
 * an errno of starting the reader (-ETIME: somebody stopped it).
 */
int lines_read(struct lines **ret, int fd, int alt_fd, const uint64_t *addresses, size_t count,
	       unsigned limit_ms, bool *whole);

/* Add and drop a reference. Any thread; NULL is allowed. */
struct lines *lines_ref(struct lines *lines);
void lines_free(struct lines *lines);

/*
 * Joins two sets of answers (NULL: none); an answer of `more` replaces one of `before`. Addresses
 * of `asked` (rising) without an answer in either set are noted as asked for. The caller owns *ret.
 * Returns 0, or a negative errno: -ENOMEM; -ENOSPC if the result had more than LINES_KEPT_MAX
 * bytes.
 */
int lines_join(struct lines **ret, const struct lines *before, const struct lines *more,
	       const uint64_t *asked, size_t asked_count);
#define LINES_KEPT_MAX (1u * 1024 * 1024)

/* Returns whether the address has been asked for. */
bool lines_has(const struct lines *lines, uint64_t address);

#define LINES_MAX 65536

/* Fills `texts` with the functions at the address, innermost first, and returns their number; 0 if
 * nothing is known. */
#define LINE_LEVELS 32
size_t lines_at(const struct lines *lines, uint64_t address, struct line_text texts[LINE_LEVELS]);

/* Returns the bytes of memory that `lines` takes. */
size_t lines_bytes(const struct lines *lines);
