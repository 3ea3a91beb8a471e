/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Python's code objects (python/pycode.h) as a kind of code; the key is address and sum. */
#pragma once

#include "code/code_kind.h"
#include "target/target_table.h"
#include "python/pycode.h"

extern const struct code_kind code_kind_python;

/* Returns the code object, borrowed, or NULL if it isn't known. */
struct pycode *codes_find_python(const struct target *target, uint64_t address, uint32_t sum);
