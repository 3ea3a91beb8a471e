/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The list by which a program tells debuggers of the code that it makes: `__jit_debug_descriptor`
 * and its entries, in the program's memory. The program may change the list meanwhile, or write
 * anything there: a list counts only if each entry's `prev` is the entry before it. So no list
 * goes round in a circle, either.
 *
 * Source: GDB's manual, "JIT Compilation Interface". 64-bit programs only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proc/process_memory.h"

#define JIT_ENTRIES_MAX 4096

struct jit_entry {
	uint64_t at;		 /* where the entry lies */
	uint64_t elf, elf_bytes; /* an ELF file in memory */
};

struct jit_list {
	struct jit_entry *entries; /* in the program's order */
	size_t count;
	bool is_cut; /* there are more than JIT_ENTRIES_MAX */
};

/* Reads the list. Returns 0, and then the caller owns *list, or a negative errno: -ENOTSUP if its
 * version is unknown; -EAGAIN if it made no sense a few times in a row, as it does while it is
 * changed; -ENOMEM; an errno of reading the descriptor. */
int jit_list_read(const struct process_memory *memory, uint64_t descriptor, struct jit_list *list);
void jit_list_done(struct jit_list *list);

/* Returns whether the list has that entry, number `hint` or another one. */
bool jit_list_has(const struct jit_list *list, const struct jit_entry *entry, size_t hint);
