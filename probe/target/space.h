/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A process's executable mappings as they were learned over time, so that a stack is named by what
 * was mapped when it was taken. Between two readings of the maps it is not known when a mapping
 * came or went: where that leaves two answers, there is none.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "proc/maps.h"
#include "file/file.h"
#include "symbol/symbol.h"

struct space;

/* -ENOMEM */
int space_new(struct space **ret);
int space_copy(struct space **ret, const struct space *from);
void space_free(struct space *space);

/*
 * Takes over the maps as they were at `began_ns`; `files` has one reference (or NULL) for each
 * mapping, which is taken over too. -ENOMEM: the space is as before.
 */
int space_update(struct space *space, const struct maps *maps, struct symbol_file **files,
		 uint64_t began_ns);

/* What so many mappings take here; what the space takes, with the paths of its files (those of a
 * copy are its original's), of which it is told how long they are. */
uint64_t space_bytes_of(size_t mappings);
uint64_t space_bytes(const struct space *space);
void space_set_paths(struct space *space, uint64_t bytes);

/* The file of the program itself, of which what else it has mapped are libraries. NULL: unknown. */
void space_set_program(struct space *space, struct symbol_file *file);
const struct symbol_file *space_program(const struct space *space);

/* Forgets what was unmapped before `ns`. */
void space_forget(struct space *space, uint64_t ns);

/* Where a user address lay at a time. -ENOENT: in no executable mapping that is known; -EAGAIN: two
 * answers. `code->file` is borrowed. */
int space_find(const struct space *space, uint64_t address, uint64_t ns, struct code *code);

/* A mapping that is there now. `file` is borrowed, NULL: none. */
struct region_view {
	uint64_t start, end, file_offset;
	enum mapping_kind kind;
	struct symbol_file *file;
};

/* By address. */
void space_each(const struct space *space,
		void (*each)(void *arg, const struct region_view *region), void *arg);

/* The file of the mapping that begins there, if it is there now and of that place in its file.
 * Borrowed; NULL: none. */
struct symbol_file *space_file_at(const struct space *space, uint64_t start, uint64_t file_offset);

/* When the maps were read last; 0: never. */
uint64_t space_read_ns(const struct space *space);
uint32_t space_exec_pages(const struct space *space);
