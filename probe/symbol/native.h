/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The functions of one ELF file: from .symtab and .dynsym, from its separate debug file, and, for
 * code without a symbol, the function starts of .eh_frame_hdr. Immutable once loaded, so that any
 * thread may look up. Compact: 12 bytes and the name a function.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct native_table;

/*
 * Reads the table. `debug_fd` is the separate debug file, or -1. It reads files that a target may
 * own: in a job. -ENOEXEC not an ELF file, -EBADMSG broken, -EFBIG or -ENOSPC too many or too long
 * symbols, -ENOMEM, errno of reading.
 */
int native_table_load(struct native_table **ret, int fd, int debug_fd);
void native_table_free(struct native_table *table);

struct native_function {
	const char *name; /* as the linker has it; NULL: it has none. Lives as long as the table. */
	uint64_t address; /* its first instruction, as the file was linked */
	const char *next; /* the name of the function right behind it; NULL: none, or nameless */
};

/* The function that holds a file offset. -ENOENT: it is in no executable segment. */
int native_table_find(const struct native_table *table, uint64_t file_offset,
		      struct native_function *function);

/* Memory that the table takes. */
size_t native_table_bytes(const struct native_table *table);
