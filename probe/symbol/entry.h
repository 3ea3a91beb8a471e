/* SPDX-License-Identifier: GPL-2.0-only */
/* The functions in which threads begin: where a chain of frame pointers ends well. */
#pragma once

#include <stdbool.h>

/* `name` as the linker has it, or NULL; `next`: of a function without a name, that of the one right
 * behind it, or NULL. */
bool is_entry_function(const char *name, const char *next);
