/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a Python process's command line tells of its script, in whose folder its own modules lie:
 * with -c, -m and standard input that is the working folder.
 *
 * Source: "Command line and environment" in Python's documentation. The line may be anything: a
 * program that embeds Python has options of its own.
 */
#pragma once

#include <stddef.h>

/* `line`: as /proc/PID/cmdline has it, each argument ends with a NUL. `cwd`: absolute; NULL:
 * unknown. The script's path, absolute and else as the line has it ("/srv/./run.py"); that of the
 * working folder has a slash at its end. Allocated; NULL: modules come from no such folder (-I,
 * -P), it can't be told, or no memory. */
char *python_line_script(const char *line, size_t bytes, const char *cwd);

/* The folder of such a path by its text alone, without ".", ".." and a slash at its end. Allocated;
 * NULL: no memory. */
char *python_line_dir(const char *script);
