/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The functions of an allocator in an ELF file, by their names in .dynsym and .symtab. The file is
 * hostile: bounded work, every number checked.
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
	uint64_t address;     /* as linked */
	uint64_t file_offset; /* of its first instruction */
	uint64_t bytes;	      /* 0: unknown */
	uint32_t arguments;   /* registers that hold what is wanted of it */
	bool null_is_malloc;  /* CALL_REALLOC: without an address it calls malloc, which is here */
	/* It calls another one for each of its calls: to be probed only where these are told by
	 * where they return to. */
	bool calls_inner;
	/* Calls that return to there are a part of another function's call. 0 bytes: none are. */
	uint64_t caller_address, caller_bytes;
};

struct allocator {
	enum allocator_kind kind;
	bool is_default; /* malloc and free themselves: who has it mapped may allocate by it.
			    Else they have a prefix (je_malloc), for one library's own use */
	struct allocator_function functions[ALLOCATOR_FUNCTIONS_MAX]; /* each address once */
	size_t count;
};

/*
 * Functions of the heap and, where the file has them, of mappings (mmap …). 0, also where there are
 * none; negative errno of reading, -EFBIG: its symbols are too many.
 *
 * Not those whose address says nothing (STT_GNU_IFUNC), not the dynamic loader's, and no function
 * that hands the whole call on to another one of them (reallocarray jumps to realloc): it would
 * count twice. Of musl, whose code says nothing about its frames, those that call another one stay
 * (calloc): else the caller's frame would be missing.
 */
int allocator_read(int fd, const struct elf_image *image, struct allocator *allocator);
