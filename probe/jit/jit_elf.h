/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An ELF file that a program has in its memory for debuggers: where its code runs, its symbols, and
 * its call frame information. Mostly an object file whose sections have got the addresses where
 * their content was loaded (LLVM); or a file without content that only describes code (QEMU).
 * proc/elf reads files on disk, which have segments; these have sections. The bytes are a copy that
 * nobody changes; whatever they say is checked.
 *
 * Source: System V ABI, ELF-64 object file format; GDB's manual, "JIT Compilation Interface".
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JIT_RANGES_MAX 64 /* sections of code of a file */

/* Code, as it runs. */
struct jit_range {
	uint64_t start, end;
};

/* Bytes of the file. */
struct jit_bytes {
	size_t at, count; /* count 0: there are none */
};

struct jit_elf {
	const uint8_t *bytes;
	size_t count;
	uint16_t machine;
	struct jit_range code[JIT_RANGES_MAX]; /* in the order of the file */
	size_t code_count;
	struct jit_bytes symbols, strings;
	struct jit_bytes eh_frame, debug_frame;
	uint64_t eh_frame_at, eh_frame_bytes; /* where .eh_frame was loaded; 0: nowhere */
	uint64_t text_at;		      /* address of .text */
	/* of an object file: symbols' values count from their sections' begins */
	bool is_relocatable;
	struct jit_bytes sections;
};

/* Reads what the copy says; `bytes` is borrowed by *elf. Returns 0, or -EBADMSG if it is no 64-bit
 * ELF file of this byte order or has no code of this processor. */
int jit_elf_read(struct jit_elf *elf, const uint8_t *bytes, size_t count);

struct jit_symbol {
	uint64_t start, end; /* addresses in memory */
	const char *name;    /* in the copy; not empty */
	size_t len;
	bool is_local;
};

/* Calls each() for the functions that have a name and a size and lie in the code. A result other
 * than 0 ends this and is returned. */
int jit_elf_symbols(const struct jit_elf *elf,
		    int (*each)(void *arg, const struct jit_symbol *symbol), void *arg);
