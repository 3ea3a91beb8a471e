/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions as /proc/kallsyms lists them, to be found by address. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/buf.h"
#include "symbol/kernel_words.h"

#define KERNEL_NAME_BYTES 1024 /* a longer one is cut; the kernel's own limit is 512 */

struct kernel_block;

struct kernel_table {
	struct buf list; /* of the functions, by address; its maximum is given */
	struct kernel_block *blocks;
	size_t count; /* of them; 0: nothing was read */
	struct kernel_words words;
};

struct kernel_function {
	uint64_t address;	      /* where it begins */
	const char *prefix;	      /* its name is this … */
	char name[KERNEL_NAME_BYTES]; /* … and this */
};

/* Negative errno: -EACCES all addresses are 0, as kernel.kptr_restrict has them; -ENOMEM; -EFBIG,
 * -ENOSPC: too many. What was read until then is to be given back, too. */
int kernel_table_read(struct kernel_table *table, FILE *file);
void kernel_table_done(struct kernel_table *table);

/* The last function that begins at or before the address; of several the first that was listed. */
bool kernel_table_find(const struct kernel_table *table, uint64_t address,
		       struct kernel_function *ret);

/* Where the function of that name begins, 0: there is none. */
uint64_t kernel_table_address(const struct kernel_table *table, const char *name);

/* Parses one line of /proc/kallsyms: 1 a function (`name` points into the line, which is cut
 * there), 0 something else, -EINVAL. */
int kernel_table_parse_line(char *line, uint64_t *address, const char **name);
