/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A file that a process has mapped: the very one, even when it was deleted or replaced, by
 * /proc/PID/map_files. Where that is not allowed, by its path in the process's root, out of which
 * no link leads. In a job: both can hang.
 */
#pragma once

#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

struct mapped {
	pid_t pid;
	uint64_t start, end; /* of the mapping */
	int root_fd;	     /* O_PATH of the process's root, or -1 */
	const char *path;    /* in that root */
};

/* Regular files only; 0 or a negative errno. */
int mapped_stat(const struct mapped *mapped, struct stat *stat);

/* Opens it and tells what was opened: a descriptor or a negative errno. */
int mapped_open(const struct mapped *mapped, struct stat *stat);

/* A regular file by its path in a root; no link leads out of it. */
int mapped_open_path(int root_fd, const char *path, struct stat *stat);
