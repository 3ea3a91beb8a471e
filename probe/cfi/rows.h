/* SPDX-License-Identifier: GPL-2.0-only */
/* All rows of a file, wherever they come from: .eh_frame, Go's table of functions, or both where C
 * and Go were linked together, else .debug_frame. */
#pragma once

#include "cfi/cfi.h"

/* As cfi_read(). -ENOENT: the file has none of these. */
int rows_read(int fd, const struct elf_image *image, row_sink sink, void *arg,
	      struct cfi_stats *stats);
