/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's functions, from /proc/kallsyms: its own, its modules' and the BPF programs'. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct kernel_symbols;

/* -ENOMEM. Nothing is read yet. */
int kernel_symbols_new(struct kernel_symbols **ret);
void kernel_symbols_free(struct kernel_symbols *symbols);

/*
 * To be called at the start of a batch of look-ups. The first look-up reads the table; the first of
 * a batch that lies outside the kernel's own text reads it again if modules or BPF programs have
 * come or gone. (Reading formats 5 MB of text, and most batches need only the kernel's own.)
 */
void kernel_symbols_begin(struct kernel_symbols *symbols);

/* The function at an address; NULL when none is known. Valid until the next look-up. */
const char *kernel_symbols_find(struct kernel_symbols *symbols, uint64_t address);

/* How the last reading ended: 0, -EACCES the kernel hides its addresses (kernel.kptr_restrict),
 * -ENOMEM, errno of reading. The table before stays in use. */
int kernel_symbols_error(const struct kernel_symbols *symbols);
