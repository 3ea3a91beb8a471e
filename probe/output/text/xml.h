/* SPDX-License-Identifier: GPL-2.0-or-later */
/* XML 1.0 escaping of text with any bytes: markup is escaped, invalid UTF-8 and characters that XML
 * forbids are replaced. */
#pragma once

#include <stddef.h>

#include "base/buf.h"

#define XML_GROWTH 6 /* bytes that one byte becomes at most: &quot; */

/* Writes escaped text at `p`, where XML_GROWTH * len bytes must have room; returns its end. */
char *xml_put(char *p, const char *text, size_t len);

/* Adds escaped text. */
void xml_add(struct buf *out, const char *text);
