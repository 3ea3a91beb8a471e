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
#include "file/symbol_file.h"
#include "symbol/symbol.h"

struct address_space;

/* -ENOMEM */
int address_space_new(struct address_space **ret);
int address_space_copy(struct address_space **ret, const struct address_space *from);
void address_space_free(struct address_space *space);

/*
 * Takes over the maps as they were at `began_ns`; `files` has one reference (or NULL) for each
 * mapping, which is taken over too. -ENOMEM: the space is as before.
 */
int address_space_update(struct address_space *space, const struct maps *maps,
			 struct symbol_file **files, uint64_t began_ns);

/* What so many mappings take here; what the space takes, with the paths of its files (those of a
 * copy are its original's), of which it is told how long they are. */
uint64_t address_space_bytes_of(size_t mappings);
uint64_t address_space_bytes(const struct address_space *space);
void address_space_set_paths(struct address_space *space, uint64_t bytes);

/* The file of the program itself, of which what else it has mapped are libraries. NULL: unknown. */
void address_space_set_program(struct address_space *space, struct symbol_file *file);
const struct symbol_file *address_space_program(const struct address_space *space);

/* Forgets what was unmapped before `ns`. */
void address_space_forget(struct address_space *space, uint64_t ns);

/* Where a user address lay at a time. -ENOENT: in no executable mapping that is known; -EAGAIN: two
 * answers. `code->file` is borrowed. */
int address_space_find(const struct address_space *space, uint64_t address, uint64_t ns,
		       struct code *code);

/* A mapping that is there now. `file` is borrowed, NULL: none. */
struct region_view {
	uint64_t start, end, file_offset;
	enum mapping_kind kind;
	struct symbol_file *file;
};

/* By address. */
void address_space_each(const struct address_space *space,
			void (*each)(void *arg, const struct region_view *region), void *arg);

/* The file of the mapping that begins there, if it is there now and of that place in its file.
 * Borrowed; NULL: none. */
struct symbol_file *address_space_file_at(const struct address_space *space, uint64_t start,
					  uint64_t file_offset);

/* When the maps were read last; 0: never. */
uint64_t address_space_read_ns(const struct address_space *space);
uint32_t address_space_exec_pages(const struct address_space *space);
