/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds an allocator's functions in an ELF file, by their names in .dynsym and .symtab. The file is
 * hostile: the work is bounded, every number is checked.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/shared/allocations.h"
#include "alloc/allocator_kind.h"
#include "proc/elf.h"

#define ALLOCATOR_FUNCTIONS_MAX 64

struct allocator_function {
	const char *name; /* a constant */
	enum call call;
	uint64_t address;     /* of the entry, as linked */
	uint64_t file_offset; /* of its first instruction */
	uint64_t bytes;	      /* 0: unknown */
	uint32_t arguments;   /* number of argument registers that the probe needs (0 to 6) */
	/* CALL_REALLOC: with a null address it calls malloc, which is listed too */
	bool null_is_malloc;
	/*
	 * It calls another listed function for each of its own calls: probe it only where those
	 * inner calls are told by their return address.
	 */
	bool calls_inner;
	/* Calls that return into this range belong to another listed function; 0 bytes: none do. */
	uint64_t caller_address, caller_bytes;
};

struct allocator {
	enum allocator_kind kind;
	/*
	 * defines malloc and free themselves, for all that map it; else its names have a prefix
	 * (je_malloc), for one library's own use
	 */
	bool is_default;
	struct allocator_function functions[ALLOCATOR_FUNCTIONS_MAX]; /* each address once */
	size_t count;
};

/*
 * Fills in *allocator: functions of the heap and, where the file has them, of mappings (mmap …).
 * Returns 0, also if there are none; a negative errno of reading; -EFBIG if there are too many
 * symbols.
 *
 * Left out are indirect functions (STT_GNU_IFUNC), whose address says nothing, those of the dynamic
 * loader, and functions that only hand on their call to another listed one (reallocarray jumps to
 * realloc), for they would count twice. Exception: musl's code has no unwind tables, so its
 * functions that call another one stay (calloc); else the caller's frame would be missing.
 */
int allocator_read(int fd, const struct elf_image *image, struct allocator *allocator);
