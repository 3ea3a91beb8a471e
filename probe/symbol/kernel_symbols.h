/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lookup of the kernel's functions, of its modules' and of BPF programs', from /proc/kallsyms. One
 * thread: the bulk worker's. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "symbol/kernel_table.h"

struct kernel_symbols;

/* Returns 0 or -ENOMEM. Nothing is read yet. */
int kernel_symbols_new(struct kernel_symbols **ret);
void kernel_symbols_free(struct kernel_symbols *symbols);

/* Reads the table, unless that was tried before: ahead of the first look-up. */
void kernel_symbols_read(struct kernel_symbols *symbols);

/*
 * Begins a batch of look-ups. The first look-up ever reads the table. The first look-up of a batch
 * outside the kernel's own text reads the table again if modules or BPF programs have come or gone.
 * (For a reading the kernel formats 5 MB of text, and most batches need only its own functions.)
 */
void kernel_symbols_begin(struct kernel_symbols *symbols);

/* Returns the name of the function at an address, valid until the next look-up; NULL if none is
 * known. */
const char *kernel_symbols_find(struct kernel_symbols *symbols, uint64_t address);

/* Lists the begins of the functions from one symbol up to another, at most `max`. Returns how many;
 * 0 if the symbols are unknown or there are more. *end is the address of the other symbol. */
size_t kernel_symbols_section(const struct kernel_symbols *symbols, const char *first,
			      const char *last, uint64_t *starts, size_t max, uint64_t *end);

/* Returns how the last reading ended: 0, or a negative errno: -EACCES if the kernel hides its
 * addresses (kernel.kptr_restrict); -ENOMEM; an errno of reading. After an error the old table
 * stays in use. */
int kernel_symbols_error(const struct kernel_symbols *symbols);

/* Reads /proc/kallsyms as kernel_table_ranges() does. Returns its result, or a negative errno of
 * opening. Any thread. */
int kernel_code_find(const char *const *names, struct kernel_range *ranges, size_t max);
