/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Go's table of functions, which every Go program has, stripped or not: where each begins, its
 * name, and how far the stack pointer is below its value at the entry, instruction by instruction.
 * Formats of Go 1.16, 1.18 and 1.20 (and later), for x86-64. Every file is hostile: what makes no
 * sense is an error or left out, memory is bounded, time by the code that the file has.
 *
 * Source: Go's runtime/symtab.go, internal/abi/symtab.go and debug/gosym.
 */
#pragma once

#include "proc/elf.h"
#include "proc/pages.h"

struct pclntab;

enum pclntab_flags {
	PCLNTAB_TOP = 1,      /* the root of a stack. Told since Go 1.17 */
	PCLNTAB_SP_WRITE = 2, /* sets the stack pointer to something else. Told since Go 1.17 */
};

struct pclntab_function {
	uint64_t start, end; /* addresses, as linked; `end` is where the next one begins */
	uint32_t name;	     /* where it begins in pclntab_names() */
	uint32_t steps;	     /* where its steps begin; 0: it has none, it is no Go function */
	uint8_t flags;	     /* enum pclntab_flags */
};

/* -ENOENT: the file has none of a known format; -EBADMSG it makes no sense, -ENOMEM. `fd` and
 * `image` are borrowed. */
int pclntab_open(struct pclntab **ret, int fd, const struct elf_image *image);
void pclntab_free(struct pclntab *table);

uint32_t pclntab_count(const struct pclntab *table);

/* Its names, each with a NUL: a piece of the file. */
struct elf_extent pclntab_names(const struct pclntab *table);

/* Number `i`, in order of addresses. -EBADMSG: this one makes no sense. */
int pclntab_function(struct pclntab *table, uint32_t i, struct pclntab_function *function);

/* The beginning of its name, cut, with a NUL. */
void pclntab_name(struct pclntab *table, const struct pclntab_function *function, char *name,
		  size_t bytes);

/* From `from` to before `to` the stack pointer is `delta` below its value at the entry. */
struct pclntab_step {
	uint64_t from, to;
	int64_t delta;
	uint64_t at; /* where the next one lies; 0: there is none */
};

/* Before the first. */
struct pclntab_step pclntab_steps(const struct pclntab *table,
				  const struct pclntab_function *function);

/* Goes to the next one. 1: there it is; 0: it was the last; -EBADMSG. */
int pclntab_next(struct pclntab *table, const struct pclntab_function *function,
		 struct pclntab_step *step);

/* Bytes of code, at an address as linked. -EIO, -EFAULT: there is no code. */
int pclntab_code(struct pclntab *table, uint64_t address, void *to, size_t bytes);
