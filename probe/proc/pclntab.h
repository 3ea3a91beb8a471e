/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A parser of Go's pclntab, the table of functions that every Go program has, stripped or not. The
 * table says for each function where it begins, its name, and for each instruction how far the
 * stack pointer is below its value at the function's entry. Formats of Go 1.16, 1.18 and 1.20 (and
 * later), for x86-64. Every file is hostile: data that makes no sense is an error or left out,
 * memory is bounded, time is bounded by the size of the file's code.
 *
 * Source: Go's runtime/symtab.go, internal/abi/symtab.go and debug/gosym.
 */
#pragma once

#include "proc/elf.h"
#include "proc/pages.h"

struct pclntab;

enum pclntab_flags {
	/* both are known since Go 1.17 */
	PCLNTAB_TOP = 1,      /* the function is the root of a stack */
	PCLNTAB_SP_WRITE = 2, /* the function sets the stack pointer to something else */
};

struct pclntab_function {
	uint64_t start, end; /* linked addresses; the next function begins at `end` */
	uint32_t name;	     /* offset of the name in pclntab_names() */
	uint32_t steps;	     /* offset of the steps; 0: none, the function isn't written in Go */
	uint8_t flags;	     /* enum pclntab_flags */
};

/* Opens the table of a file. `fd` and `image` are borrowed until pclntab_free(). Returns 0, or a
 * negative errno: -ENOENT if the file has no table of a known format; -EBADMSG if the table makes
 * no sense; -ENOMEM. The caller owns *ret. */
int pclntab_open(struct pclntab **ret, int fd, const struct elf_image *image);
void pclntab_free(struct pclntab *table);

/* Returns the number of functions. */
uint32_t pclntab_count(const struct pclntab *table);

/* Returns the piece of the file that holds the names, each with a NUL. */
struct elf_extent pclntab_names(const struct pclntab *table);

/* Reads function `i`, in order of addresses. Returns 0, or -EBADMSG if this function makes no
 * sense. */
int pclntab_function(struct pclntab *table, uint32_t i, struct pclntab_function *function);

/* Reads the beginning of the function's name into `name`, with a NUL; cuts it to `bytes`. */
void pclntab_name(struct pclntab *table, const struct pclntab_function *function, char *name,
		  size_t bytes);

/* A range of code, [from, to), in which the stack pointer is `delta` bytes below its value at the
 * function's entry. */
struct pclntab_step {
	uint64_t from, to;
	int64_t delta;
	uint64_t at; /* the next step's offset in the file; 0: there is none */
};

/* Returns the state before the function's first step. */
struct pclntab_step pclntab_steps(const struct pclntab *table,
				  const struct pclntab_function *function);

/* Goes to the next step. Returns 1; 0 if there is no further step; or -EBADMSG. */
int pclntab_next(struct pclntab *table, const struct pclntab_function *function,
		 struct pclntab_step *step);

/* Reads `bytes` bytes of code at a linked address. Returns 0, -EFAULT if no executable segment
 * holds them, or -EIO. */
int pclntab_code(struct pclntab *table, uint64_t address, void *to, size_t bytes);
