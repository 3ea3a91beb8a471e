/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unwind rows of an ELF file in a program's memory: from its .eh_frame as it was loaded, else from
 * the file's .eh_frame or .debug_frame. */
#pragma once

#include "jit/jit_object.h"

/* Adds the rows of the file's code to the list. *checksum: of what was read beside the file's copy.
 * No CFI, or some that makes no sense, is no error: there are no rows then. Returns 0, or a
 * negative errno: -EFBIG if there are too many rows; -ENOMEM. */
int jit_cfi_read(const struct jit_elf *elf, const struct process_memory *memory,
		 struct jit_row_list *rows, uint64_t *checksum);
