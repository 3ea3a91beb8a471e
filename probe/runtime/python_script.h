/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the folder of a Python process's own modules. The interpreter makes sys.path[0] from the
 * script's path with all symbolic links resolved, or from the path itself if it is a folder. Links
 * are resolved as the process would now, but only from the kernel's cache, because a file system
 * might hang (RESOLVE_CACHED, Linux 5.12). If the cache lacks them, the path's text counts. The
 * cache has them once the interpreter has opened the script.
 *
 * Source: _PyPathConfig_ComputeSysPath0() in Python's pathconfig.c.
 */
#pragma once

#include <sys/types.h>

#include "python/pypath.h"

/* Fills in both spellings of the folder; NULL: not known. In a job: reading the command line reads
 * the process's memory. Returns 0, or -EAGAIN if links can't be resolved yet: worth a retry. */
int python_script(pid_t pid, struct pypath_script *script);

/* Frees what *script holds. */
void python_script_done(struct pypath_script *script);
