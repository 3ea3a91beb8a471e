/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The pieces of code that FDEs cover: all of a file, or those that hold given addresses. A piece is
 * the code of one FDE: a function, or a part of a function that the compiler put elsewhere (.cold).
 * The file is hostile, as in cfi/cfi.h.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proc/elf.h"

struct cfi_range {
	uint64_t from, to; /* addresses as linked */
	/* At the piece's first instruction the stack is as a call leaves it. False: the piece can
	 * only be jumped to, from code that has made its frame. */
	bool callable;
};

/* Calls `each` for every piece, in the order of the file. `callable` isn't told. Results and errors
 * as below. */
int cfi_ranges_all(int fd, const struct elf_image *image,
		   int (*each)(void *arg, const struct cfi_range *piece), void *arg);

/* Calls `each` for every piece that holds at least one of the addresses, which must be sorted. A
 * result of `each` other than 0 ends the search and is returned. Errors as cfi_read(), but -ENOENT:
 * the file has no .eh_frame. */
int cfi_ranges_at(int fd, const struct elf_image *image, const uint64_t *addresses, size_t count,
		  int (*each)(void *arg, const struct cfi_range *piece), void *arg);
