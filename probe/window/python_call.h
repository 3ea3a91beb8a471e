/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions of CPython that do nothing but call: what they call, or who called them, says it all.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* By its name; `.lto_priv.0`, `.constprop.0` and their like at its end don't count. */
bool python_call(const char *name, size_t len);
