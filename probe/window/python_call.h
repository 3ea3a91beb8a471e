/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions of CPython that only call: their callee or caller says it all. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * Returns whether the function is one of these; suffixes like `.lto_priv.0` and `.constprop.0` are
 * ignored.
 */
bool python_call(const char *name, size_t len);
