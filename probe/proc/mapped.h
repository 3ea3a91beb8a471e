/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opens a file that a process has mapped: the very file, even if it was deleted or replaced, by
 * /proc/PID/map_files. Where that is not allowed, the file is opened by its path in the process's
 * root folder, out of which no link leads. Then device and inode must be those of the mapping. If
 * only half of the inode's number can be compared, the file must also belong to the process's user
 * or to root. Otherwise the file may belong to anybody, as the process runs it, unless the caller
 * has rules (then -EPERM, as proc/foreign.h). Only regular files are opened (proc/foreign.h). All
 * functions may hang: in a job.
 */
#pragma once

#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

struct foreign_rules;

struct mapped {
	pid_t pid;
	uint64_t start, end; /* the mapping's addresses */
	int root_fd;	     /* the process's root folder (O_PATH), or -1 */
	const char *path;    /* the file's path in the root folder */
	/* The mapping's numbers from /proc/PID/maps; inode 0: not known. */
	uint64_t device, inode;
	const struct foreign_rules *rules; /* which files are opened; NULL: anybody's */
};

/*
 * Fills in *stat for the mapped file. Returns 0, or a negative errno: -ENOEXEC if it is no regular
 * file, or lies in a file system that the kernel makes up; -ESTALE if another file has that path.
 */
int mapped_stat(const struct mapped *mapped, struct stat *stat);

/* Opens the mapped file and fills in *stat. Returns a descriptor, which the caller owns, or a
 * negative errno as mapped_stat(). */
int mapped_open(const struct mapped *mapped, struct stat *stat);

/* Opens a regular file by its path in a root folder, out of which no link leads. Returns as
 * mapped_open(), but never -ESTALE. */
int mapped_open_path(int root_fd, const char *path, struct stat *stat);
