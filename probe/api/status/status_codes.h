/* SPDX-License-Identifier: GPL-2.0-or-later */
/* JSON of one kind of code that is read from processes (code/code_cache.h). */
#pragma once

#include "base/json.h"
#include "code/code_cache.h"

/* Adds the number of known pieces, under the name `pieces`, and "bytes", "read", "lost": {cause:
 * n}. */
void status_codes(struct json *json, const char *pieces, const struct code_cache_stats *codes);
