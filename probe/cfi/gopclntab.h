/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reader that turns Go's table of functions (pclntab) into unwind rows, for programs of Go's own
 * compiler, stripped or not. These have no .eh_frame, except for C code linked to them. Go's
 * .debug_frame says less than pclntab: nothing of the saved frame pointer, nor where stacks are
 * switched. x86-64 only.
 */
#pragma once

#include "cfi/cfi.h"

/*
 * Calls `sink`, as cfi_read() does, for all of Go's code: from the begin of the first function to
 * the end of the last, with RULE_NONE behind. Returns 0, an error of the sink, or a negative errno:
 * -ENOENT if the file has no such table (the sink got nothing); -EBADMSG if the table makes no
 * sense as a whole; -EFBIG; -ENOMEM.
 */
int gopclntab_read(int fd, const struct elf_image *image, row_sink sink, void *arg,
		   struct cfi_stats *stats);

/* Sets *start and *end to the addresses of Go's code, as linked, which is one piece. Errors as
 * gopclntab_read(). */
int gopclntab_range(int fd, const struct elf_image *image, uint64_t *start, uint64_t *end);
