/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which known file a module is: by path, build id and segment. Made for one question of many
 * modules, for a thousand of them among a thousand files would be a million comparisons on the
 * loop's thread.
 */
#pragma once

#include "file/symbol_file.h"

struct file_known;

struct file_index {
	struct file_known *known; /* those that have been read, rising by hash */
	size_t count;
	uint64_t seed;
};

/* As the files are now; valid until one comes or goes. -ENOMEM */
int file_index_make(struct file_index *index, const struct symbol_files *files);
void file_index_done(struct file_index *index);

/* NULL: none. Of several of one build the one that was used last: it is open more likely. Where no
 * build id tells that they are, none: another process's program may have had the same name. */
struct symbol_file *file_index_find(const struct file_index *index, const struct module *module);
