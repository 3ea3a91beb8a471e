/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Address space: a process's executable mappings over time, so that a stack is named by what was
 * mapped when it was taken. When a mapping came or went between two readings of the maps isn't
 * known; a look-up that would have two answers then has none. Loop thread only.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "proc/maps.h"
#include "file/symbol_file.h"
#include "symbol/symbol.h"

struct address_space;

/* A present mapping. `file` is borrowed; NULL: none. */
struct region_view {
	uint64_t start, end, file_offset;
	enum mapping_kind kind;
	struct symbol_file *file;
};

/* Create an empty space, or a copy; the caller owns *ret. Return 0 or -ENOMEM. */
int address_space_new(struct address_space **ret);
int address_space_copy(struct address_space **ret, const struct address_space *from);
void address_space_free(struct address_space *space);

/*
 * Updates the space to the maps as they were at `began_ns`. `files` has one reference (or NULL) for
 * each mapping, taken over on success. Returns 0, or -ENOMEM: the space is unchanged, and the
 * caller still owns the references.
 */
int address_space_update(struct address_space *space, const struct maps *maps,
			 struct symbol_file **files, uint64_t began_ns);

/* Adds a mapping that the kernel's side told of and that wasn't read yet; the next reading replaces
 * it. One that lies over another is left out, unless that was told, too; one too
 * many is left out. */
void address_space_tell(struct address_space *space, const struct region_view *told);

/*
 * Return the bytes that so many mappings take; the bytes that the space takes, with the paths of
 * its files (a copy's are its original's), whose length target_maps.c sets.
 */
uint64_t address_space_bytes_of(size_t mappings);
uint64_t address_space_bytes(const struct address_space *space);
void address_space_set_paths(struct address_space *space, uint64_t bytes);

/*
 * Set and return the file of the program itself; other mapped files are libraries. NULL: unknown.
 */
void address_space_set_program(struct address_space *space, struct symbol_file *file);
const struct symbol_file *address_space_program(const struct address_space *space);

/* Forgets mappings that were gone before `ns`. */
void address_space_forget(struct address_space *space, uint64_t ns);

/* Returns whether the code was made at run time: no file has its functions. */
static inline bool code_is_made(const struct code *code)
{
	return code->place == CODE_JIT || (code->file && symbol_file_is_jit(code->file));
}

/*
 * Finds what a user address was at a time. Returns 0; -ENOENT if it lay in no known executable
 * mapping; -EAGAIN if there are two answers. `code->file` is borrowed.
 */
int address_space_find(const struct address_space *space, uint64_t address, uint64_t ns,
		       struct code *code);

/* Calls each() for the present mappings, by ascending address. */
void address_space_each(const struct address_space *space,
			void (*each)(void *arg, const struct region_view *region), void *arg);

/* Returns the file of the present mapping with that start and file offset, borrowed; NULL: none. */
struct symbol_file *address_space_file_at(const struct address_space *space, uint64_t start,
					  uint64_t file_offset);

/* Returns when the maps were read last; 0: never. */
uint64_t address_space_read_ns(const struct address_space *space);

/* Returns the number of executable pages at the last reading. */
uint32_t address_space_exec_pages(const struct address_space *space);
