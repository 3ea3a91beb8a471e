/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Separate debug files, found as GDB does: by build id, then by .gnu_debuglink. Looked for in the
 * process's own root (no link leads out of it), in this host's, and in a folder that the user
 * named.
 */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

#include "proc/elf.h"

/* Where a debug file was found, so that the next time it need not be searched and checked again
 * (which may mean to read all of it). Begin with zeroes. */
struct debug_found {
	bool searched;
	char *path; /* NULL: there is none; allocated */
	bool in_root;
	struct stat stat;
};

struct debug_search {
	int root_fd;		   /* O_PATH of the process's root; -1: the same as ours */
	const char *path;	   /* of the file, in that root, or as we see it there */
	const char *debugging_dir; /* a further root on this host, or NULL */
	/* One without a build id is read whole to be checked, up to so many bytes; 0: to 4 GiB. */
	int64_t checked_max;
};

/* The debug file of the open file `fd`, checked to belong to it; -ENOENT. In a job. `found` learns
 * where it is. */
int debugfile_open(int fd, const struct debug_search *search, struct debug_found *found);

/* By build id alone, and on this host only (`debugging_dir` as above): where nothing of a target
 * can make it take long. -ENOENT */
int debugfile_of_build_id(const struct elf_image *image, const char *debugging_dir);

/* What the open file `fd` shares with other debug files (dwz's .gnu_debugaltlink), by its build id:
 * in the folders where debug files are, and their folder .dwz; whatever else its link says isn't
 * opened. -ENOENT. In a job. */
int debugfile_open_shared(int fd, const struct debug_search *search);

/* The debug file found before, if it is still the same: else a negative errno. In a job. */
int debugfile_open_again(const struct debug_search *search, const struct debug_found *found);
