/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A parser of a Python process's command line: finds the script, in whose folder the process's own
 * modules lie. With -c, -m and standard input they lie in the working folder.
 *
 * Source: "Command line and environment" in Python's documentation. The line may be anything: a
 * program that embeds Python has options of its own.
 */
#pragma once

#include <stddef.h>

/* Returns the script's absolute path, otherwise as the line has it ("/srv/./run.py"); or the
 * working folder with a slash at its end. `line` is /proc/PID/cmdline: each argument ends with a
 * NUL. `cwd` is the absolute working folder; NULL: not known. Returns NULL if modules come from no
 * such folder
 * (-I, -P), if the line doesn't say, or without memory. The caller frees the path. */
char *python_line_script(const char *line, size_t bytes, const char *cwd);

/* Returns the folder of such a path, computed from the text alone, without ".", ".." and a slash at
 * its end. NULL: no memory. The caller frees the folder. */
char *python_line_dir(const char *script);
