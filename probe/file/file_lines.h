/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cache of files' source lines, read for a profile that is being written. Loop thread only. */
#pragma once

#include "file/symbol_file.h"
#include "elf/lines.h"

/* A question about one file; borrowed until done() is called. */
struct lines_wish {
	const struct module *module; /* finds the file, by its path and build id */
	const uint64_t *addresses;   /* as lines_read() takes them */
	size_t count;
	struct lines **lines; /* the answer, a reference; unchanged if no line is known */
};

/*
 * Reads the wished lines that aren't cached, on `worker`, and calls done(arg) later, when all that
 * `limit_ms` had time for is read. A file that isn't held open any more (file/symbol_file.h) has
 * only the lines in the cache, which has some megabytes for all files. Returns 0, or -ENOMEM: then
 * done() isn't called.
 *
 * `sparing` is for callers that ask again and again: after a reading of length t, for 200 t, such
 * callers get cached lines only.
 */
int symbol_files_read_lines(struct symbol_files *files, struct worker *worker,
			    const struct lines_wish *wishes, size_t count, unsigned limit_ms,
			    bool sparing, void (*done)(void *arg), void *arg);
