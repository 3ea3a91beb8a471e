/* SPDX-License-Identifier: GPL-2.0-only */
/* The path of a Python file as people know it: by its package. */
#pragma once

#include <stddef.h>

/* Where a process's own modules come from. Modules that are imported have sys.path[0] in their
 * names, the script itself the folder by which it was called: "/srv/app" and "/srv/bin/../app". */
struct pypath_script {
	char *dir, *called; /* absolute; NULL: not known */
};

/*
 * The part of `path` (*len bytes) to be shown; *len becomes that part's. It is what lies behind the
 * last `/site-packages/` or `/dist-packages/`; else behind the standard library's root,
 * `/lib/python3.N/` (also lib64, and `python3.Nt`) or `/python3N.zip/`; else behind that folder of
 * the script (NULL: not known) of which most is in it; else all of it. So are names that are no
 * path: `<string>`.
 */
const char *pypath_shorten(const char *path, size_t *len, const struct pypath_script *script);
