/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shortens the path of a Python file to what people know: the path from its package on. */
#pragma once

#include <stddef.h>

/* The folder of a process's own modules, in two spellings: imported modules have sys.path[0] in
 * their paths ("/srv/app"), the script has the folder by which it was called ("/srv/bin/../app").
 */
struct pypath_script {
	char *dir, *called; /* absolute; NULL: not known */
};

/*
 * Returns the part of `path` (*len bytes) to show, borrowed from `path`, and sets *len to its
 * length. This is the part behind the last `/site-packages/` or `/dist-packages/`; else behind the
 * standard library's root, `/lib/python3.N/` (also lib64, and `python3.Nt`) or `/python3N.zip/`;
 * else behind the script's folder (`script` NULL: not known) in the spelling that matches more of
 * the path; else all of it, also for names that are no path: `<string>`.
 */
const char *pypath_shorten(const char *path, size_t *len, const struct pypath_script *script);
