/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pieces of code, each with one FDE: a function, or what the compiler put elsewhere of one (.cold).
 * The file is hostile, as in cfi/cfi.h.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proc/elf.h"

struct cfi_piece {
	uint64_t from, to; /* as linked */
	/* At its begin the stack is as a call leaves it. False: it can only be jumped to, from code
	 * that has made its frame. */
	bool callable;
};

/* Calls each for the pieces that have one of the addresses, which are sorted; its errors end it.
 * -ENOENT: the file has no .eh_frame; or as cfi_read(). */
int cfi_pieces_at(int fd, const struct elf_image *image, const uint64_t *addresses, size_t count,
		  int (*each)(void *arg, const struct cfi_piece *piece), void *arg);
