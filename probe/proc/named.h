/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The symbols of a table that have one of a few names. The file is hostile: the strings and the
 * symbols are read once from the beginning to the end, however large they are, the symbols only
 * where one of the names is among the strings.
 */
#pragma once

#include <elf.h>
#include <stddef.h>
#include <stdint.h>

#include "proc/elf.h"

#define NAMED_MAX      128 /* names, and the longest of them */
#define NAMED_NAME_MAX 48

/* Calls each for every symbol that is defined and has names[name]; its errors end it. 0, or a
 * negative errno of reading, -EFBIG: the symbols are too many, -ENOMEM. 64-bit files only. */
int named_symbols(int fd, const struct elf_symbols *from, const char *const *names, size_t count,
		  int (*each)(void *arg, size_t name, const Elf64_Sym *symbol), void *arg);

/* Where a linked address lies in the file; false: in no executable segment. */
bool named_offset(const struct elf_image *image, uint64_t address, uint64_t *offset);
