/* SPDX-License-Identifier: GPL-2.0-only */
/* The path of a Python file as people know it: by its package. */
#pragma once

#include <stddef.h>

/*
 * The part of `path` (*len bytes) to be shown; *len becomes that part's. It is what lies behind the
 * last `/site-packages/` or `/dist-packages/`; else behind the standard library's root,
 * `/lib/python3.N/` (also lib64, and `python3.Nt`) or `/python3N.zip/`; else behind sys.path[0],
 * which is script_dir (NULL: not known); else all of it. So are names that are no path: `<string>`.
 */
const char *pypath_shorten(const char *path, size_t *len, const char *script_dir);
