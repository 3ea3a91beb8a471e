/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>

#include "base/buf.h"

/* Adds a name as folded text has it: `;` as `:`, control bytes and line ends as a blank, invalid
 * UTF-8 as U+FFFD. */
void folded_name(struct buf *out, const char *name, size_t len);
