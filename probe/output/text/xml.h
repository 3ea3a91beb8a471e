/* SPDX-License-Identifier: GPL-2.0-only */
/* Text of any bytes as XML 1.0: markup escaped, invalid UTF-8 and forbidden characters replaced. */
#pragma once

#include <stddef.h>

#include "base/buf.h"

#define XML_GROWTH 6 /* a byte becomes at most so many: &quot; */

/* Writes at `p`, where XML_GROWTH * len bytes have room; returns where it stopped. */
char *xml_put(char *p, const char *text, size_t len);

void xml_add(struct buf *out, const char *text);
