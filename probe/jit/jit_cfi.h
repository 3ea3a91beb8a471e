/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unwind rows of an ELF file in a program's memory: from its .eh_frame as it was loaded, else from
 * the file's .eh_frame or .debug_frame. */
#pragma once

#include "jit/jit_object.h"

/* Adds the rows of the file's code to the list: all, or none if the list would have too many. No
 * CFI, or some that makes no sense, is no error, either. Returns 0, or -ENOMEM. */
int jit_cfi_read(const struct jit_file *file, struct jit_row_list *rows);
