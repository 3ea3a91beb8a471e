/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The folders that a Python process's own modules come from. The interpreter makes sys.path[0] of
 * the script's path with all symbolic links resolved, or of the path itself where that is a folder.
 * Links are resolved as the process would now, where the kernel knows them without asking a file
 * system, which might hang (Linux 5.12); else the path's text counts. It knows them once the
 * interpreter has opened the script.
 *
 * Source: _PyPathConfig_ComputeSysPath0() in Python's pathconfig.c.
 */
#pragma once

#include <sys/types.h>

#include "python/pypath.h"

/* Fills it in; what can't be told is NULL. In a job: the process's memory is read. -EAGAIN: links
 * aren't resolved, which may be otherwise soon. */
int python_script(pid_t pid, struct pypath_script *script);
void python_script_done(struct pypath_script *script);
