/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A file that a process has mapped: the very one, even when it was deleted or replaced, by
 * /proc/PID/map_files. Where that is not allowed, by its path in the process's root, out of which
 * no link leads; then it has to be the file that the mapping tells of, and, where only half of its
 * inode's number can tell, belong to the process's user or to root. Else whoever owns it: it is
 * what the process runs. What isn't a plain file (proc/foreign.h) isn't opened. In a job: all can
 * hang.
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
	/* As /proc/PID/maps tells of it; 0: not known. */
	uint64_t device, inode;
};

/*
 * 0 or a negative errno. -ENOEXEC: no regular file, or one of the kernel's own; -ESTALE: by that
 * path there is another file than the one that is mapped.
 */
int mapped_stat(const struct mapped *mapped, struct stat *stat);

/* Opens it and tells what was opened: a descriptor or a negative errno. */
int mapped_open(const struct mapped *mapped, struct stat *stat);

/* A plain file by its path in a root; no link leads out of it. */
int mapped_open_path(int root_fd, const char *path, struct stat *stat);
