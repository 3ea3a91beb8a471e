/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>

#include "base/buf.h"

/* Adds `text`, whatever bytes it has, as a string of JSON with its quotes. */
void json_string(struct buf *out, const char *text, size_t len);
