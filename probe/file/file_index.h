/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hash index from a module (path, build id, segment) to its file. It is made for one request with
 * many modules: without it, a thousand modules among a thousand files would be a million
 * comparisons on the loop's thread.
 */
#pragma once

#include "file/symbol_file.h"

struct file_known;

struct file_index {
	struct file_known *known; /* the files whose tables have been read, sorted by hash */
	size_t count;
	uint64_t seed;
};

/* Makes an index of the current files, valid until a file comes or goes. Returns 0 or -ENOMEM. */
int file_index_make(struct file_index *index, const struct symbol_files *files);
void file_index_done(struct file_index *index);

/* Returns the module's file, borrowed; NULL if there is none. Of several files with the build id
 * the one used last is returned, as that is more likely open. Several different files without a
 * build id give NULL: another process's program may have had the same path. */
struct symbol_file *file_index_find(const struct file_index *index, const struct module *module);
