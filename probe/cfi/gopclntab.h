/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Go's table of functions -> rows, for programs of Go's own compiler, stripped or not (they have no
 * .eh_frame; where C takes part, .eh_frame has rows for that). Its .debug_frame says less: nothing
 * of the saved frame pointer, nor where stacks are switched. x86-64 only.
 */
#pragma once

#include "cfi/cfi.h"

/*
 * As cfi_read(), of all of Go's code: from where its first function begins to the end of the last
 * one, with RULE_NONE behind it. -ENOENT: the file has no such table (nothing was handed on);
 * -EBADMSG it makes no sense as a whole, -EFBIG, -ENOMEM, the sink's.
 */
int gopclntab_read(int fd, const struct elf_image *image, row_sink sink, void *arg,
		   struct cfi_stats *stats);

/* Where Go's code is, as linked: one piece. Errors as above. */
int gopclntab_range(int fd, const struct elf_image *image, uint64_t *start, uint64_t *end);
