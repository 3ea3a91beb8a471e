/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stddef.h>

#include "base/buf.h"

/* Adds a frame's name, escaped for folded text: `;` becomes `:`, a control byte or a line end
 * becomes a blank, invalid UTF-8 becomes U+FFFD. */
void folded_name(struct buf *out, const char *name, size_t len);
