/* SPDX-License-Identifier: GPL-2.0-only */
/* Where this program's functions lie in its file: for probes on itself, which trials make. */
#pragma once

#include <stdint.h>

/* The file offset of a function of the program's own. -ENOEXEC: it lies in no segment. */
int own_code_offset(uintptr_t function, uint64_t *offset);
