/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a file's tags for the dynamic linker say: its symbols, also where section headers are gone,
 * and the addresses that relocations put into its data. The file is hostile and reading may hang:
 * in a job.
 *
 * Source: System V ABI, "Dynamic Section", "Hash Table"; the generic ABI's SHT_RELR; glibc's
 * elf/dl-lookup.c for DT_GNU_HASH.
 */
#pragma once

#include "proc/elf.h"

struct elf_dynamic {
	struct elf_extent rela; /* Elf64_Rela */
	struct elf_extent relr; /* Elf64_Relr */
	struct elf_symbols symbols;
};

/* Reads the tags of a 64-bit file. Returns 0, or a negative errno: -ENOENT if there are none;
 * -ENOMEM; an errno of reading. A table that doesn't lie in the file is left out. */
int elf_dynamic_read(int fd, const struct elf_image *image, struct elf_dynamic *dynamic);

/* Calls `sink` with each address that the file's data holds for certain once it is loaded, as
 * linked; of a file that isn't relocated, with each aligned word of its data. 64-bit files only. A
 * result other than 0 ends the scan. `end_ns`: of the thread's CPU time; 0: there is no end.
 * Returns 0, the sink's result, or a negative errno: -ETIME; -ENOMEM; an errno of reading. */
int elf_pointers_scan(int fd, const struct elf_image *image,
		      int (*sink)(void *arg, uint64_t address), void *arg, uint64_t end_ns);
