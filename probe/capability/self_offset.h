/* SPDX-License-Identifier: GPL-2.0-or-later */
/* File offsets of this program's own functions, for uprobes that trials put on the program
 * itself. */
#pragma once

#include <stdint.h>

/* Finds the offset of a function in the program's file. Returns 0, or -ENOEXEC if the address lies
 * in no segment of the program. */
int self_offset(uintptr_t function, uint64_t *offset);
