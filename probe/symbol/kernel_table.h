/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compact sorted table of the functions in /proc/kallsyms, with lookup by address. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/buf.h"
#include "symbol/kernel_words.h"

#define KERNEL_NAME_BYTES 1024 /* a longer name is cut; the kernel's own limit is 512 */

struct kernel_block;

struct kernel_table {
	struct buf list; /* the functions, sorted by address; the caller sets list.max */
	struct kernel_block *blocks;
	size_t count; /* of blocks; 0: nothing was read */
	struct kernel_words words;
};

struct kernel_function {
	uint64_t address;	      /* of the first byte */
	const char *prefix;	      /* the name is `prefix` … */
	char name[KERNEL_NAME_BYTES]; /* … and `name` */
};

/* Reads the table. Returns 0, or a negative errno: -EACCES if all addresses are 0, as
 * kernel.kptr_restrict makes them; -ENOMEM; -EFBIG or -ENOSPC if there are too many functions. Call
 * kernel_table_done() also after a failure. */
int kernel_table_read(struct kernel_table *table, FILE *file);
void kernel_table_done(struct kernel_table *table);

/* Finds the last function that begins at or before the address; of several there the first in the
 * file. Returns false if there is none. */
bool kernel_table_find(const struct kernel_table *table, uint64_t address,
		       struct kernel_function *ret);

/* Returns the address of the function with that name; 0 if there is none. */
uint64_t kernel_table_address(const struct kernel_table *table, const char *name);

/* Parses a line of /proc/kallsyms. Returns 1 for a function (`name` points into the line, where a
 * NUL is written behind the name), 0 for another symbol, or -EINVAL. */
int kernel_table_parse_line(char *line, uint64_t *address, const char **name);

/* A function's code in the kernel. */
struct kernel_range {
	uint64_t from, to;
	size_t name; /* number of the name that the function has */
};

/*
 * Reads where the functions with these names (NULL ends them) lie; the compiler may have made parts
 * or copies of a function, `NAME.…`. Fills in at most `max` ranges. Returns how many, or -EACCES if
 * all addresses are 0.
 */
int kernel_table_ranges(FILE *file, const char *const *names, struct kernel_range *ranges,
			size_t max);
