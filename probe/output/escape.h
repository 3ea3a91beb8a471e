/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>

#include "base/buf.h"

/*
 * Adds `text` with parts of it replaced: replacement() looks at the bytes there, says in *bytes how
 * many it has looked at (at least one), and returns what stands for them, or NULL: they stay.
 */
void escape_text(struct buf *out, const char *text, size_t len,
		 const char *(*replacement)(const char *at, size_t left, size_t *bytes));

/* Adds a name as folded text has it: `;` as `:`, control bytes and line ends as a blank, invalid
 * UTF-8 as U+FFFD. */
void folded_name(struct buf *out, const char *name, size_t len);
