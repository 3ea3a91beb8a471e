/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stddef.h>

#include "base/buf.h"

/* Adds `text` as a JSON string with its quotes. `text` may hold any bytes: invalid UTF-8 becomes
 * U+FFFD. */
void json_string(struct buf *out, const char *text, size_t len);
