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
