/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Separate debug files, found as GDB does: by build id, then by .gnu_debuglink. Looked for in the
 * process's own root (no link leads out of it), in this host's, and in a folder that the user
 * named.
 */
#pragma once

struct debug_search {
	int root_fd;		   /* O_PATH of the process's root; -1: the same as ours */
	const char *path;	   /* of the file, in that root */
	const char *debugging_dir; /* a further root on this host, or NULL */
};

/* The debug file of the open file `fd`, checked to belong to it; -ENOENT. In a job. */
int debugfile_open(int fd, const struct debug_search *search);
