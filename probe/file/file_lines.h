/* SPDX-License-Identifier: GPL-2.0-only */
/* Source lines of places in files that are known, for a profile that is written. */
#pragma once

#include "file/symbol_file.h"
#include "elf/lines.h"

/* What is asked of a file; borrowed until done() is called. */
struct lines_wish {
	const struct module *module; /* the file with that path and build id */
	const uint64_t *addresses;   /* as lines_read() takes them */
	size_t count;
	struct lines **lines; /* the answer, a reference; stays NULL where nothing is known */
};

/*
 * Calls done(arg) later, when all is read that there was time for. Files are opened as they are
 * known (file/symbol_file.h): one that is not held open any more has no lines but those that were
 * read before, which are kept, some megabytes of all files. -ENOMEM: done() isn't called.
 *
 * `sparing`: for who asks again and again. What a reading took is followed by two hundred times as
 * long in which only what is kept is the answer.
 */
int symbol_files_read_lines(struct symbol_files *files, struct worker *worker,
			    const struct lines_wish *wishes, size_t count, unsigned limit_ms,
			    bool sparing, void (*done)(void *arg), void *arg);
