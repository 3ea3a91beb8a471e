/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reader for all unwind rows of a file, from .eh_frame, from Go's pclntab, or from both where C and
 * Go were linked together; else from .debug_frame. */
#pragma once

#include "cfi/cfi.h"

/* Calls `sink` for each row; arguments and errors as cfi_read(). -ENOENT: the file has none of
 * these tables. */
int rows_read(int fd, const struct elf_image *image, row_sink sink, void *arg,
	      struct cfi_stats *stats);
