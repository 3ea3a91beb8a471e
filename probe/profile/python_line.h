/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a Python process's command line tells of sys.path[0], the folder that its own modules come
 * from: that of the script, or the working folder for -c, -m and standard input.
 *
 * Source: "Command line and environment" in Python's documentation. The line may be anything: a
 * program that embeds Python has options of its own.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/* `line`: as /proc/PID/cmdline has it, each argument ends with a NUL. `cwd`: absolute; NULL:
 * unknown. An absolute path without ".", ".." and a slash at its end, allocated; NULL: there is no
 * such folder (-I, -P), it can't be told, or no memory. */
char *python_line_dir(const char *line, size_t bytes, const char *cwd);

/* The same of a process, NULL if it has gone. In a job: its memory is read. */
char *python_script_dir(pid_t pid);
