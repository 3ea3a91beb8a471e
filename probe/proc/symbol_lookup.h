/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the symbols of an ELF file that have one of a few names. The file is hostile: its strings
 * are read once from beginning to end, in bounded memory, and its symbols also once, but only if
 * one of the names is among the strings.
 */
#pragma once

#include <elf.h>
#include <stddef.h>
#include <stdint.h>

#include "proc/elf.h"

#define SYMBOL_LOOKUP_MAX 128 /* names */
#define SYMBOL_NAME_MAX	  255 /* bytes of a name */

/* Calls each() for every symbol that is defined and has the name names[name]; an error of each()
 * ends the search. Returns 0, or a negative errno: that of each() or of reading; -EFBIG if there
 * are too many symbols, strings or names; -ENOMEM. 64-bit files only. */
int symbol_lookup(int fd, const struct elf_symbols *from, const char *const *names, size_t count,
		  int (*each)(void *arg, size_t name, const Elf64_Sym *symbol), void *arg);

/* Calls each() for every symbol of a file's table, as it stands there. A result other than 0 ends
 * that and is returned; else 0, or a negative errno: -EFBIG if there are too many; an errno of
 * reading. 64-bit files only. */
int symbols_each(int fd, const struct elf_extent *symbols,
		 int (*each)(void *arg, const Elf64_Sym *symbol), void *arg);

/* Finds the file offset of a linked address. Returns false if no executable segment holds the
 * address. */
bool symbol_offset(const struct elf_image *image, uint64_t address, uint64_t *offset);
