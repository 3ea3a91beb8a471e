/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What recorded processes had mapped to run, at the time of each sample. perf tells of new mappings
 * and not of removed ones: a new one cuts away what it covers.
 */
#pragma once

#include <sys/types.h>

#include "files.h"
#include "perf_data.h"

struct reference;

/* The executable mappings of one process; those of `files` and of `maps` are the same. */
struct layout {
	uint32_t pid;
	struct replay_map *maps; /* by address */
	struct mapped_file **files;
	size_t count, room;
	struct reference *reference; /* NULL: to be made anew, the mappings have changed */
	struct layout *next;
};

struct layouts {
	struct layout *first;
	struct files files;
};

/* That of a process; made where there is none. NULL: no memory. */
struct layout *layouts_get(struct layouts *layouts, uint32_t pid);
void layouts_done(struct layouts *layouts);

/* -ENOMEM */
int layout_map(struct layouts *layouts, const struct perf_map *map);
int layout_fork(struct layouts *layouts, uint32_t pid, uint32_t parent);
void layout_exec(struct layouts *layouts, uint32_t pid);

/* The number of the mapping that holds the address, or -1. */
ssize_t layout_find(const struct layout *layout, uint64_t address);

/* How far a mapping's addresses are from those that its file was linked for. */
uint64_t layout_bias(const struct layout *layout, size_t number);
