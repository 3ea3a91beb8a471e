/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Separate debug files, found as GDB does: by build id, then by .gnu_debuglink. Looked for in the
 * process's own root (no link leads out of it), in this host's, and in a folder that the user
 * named, whose links are followed as if it were a root, so that those of an unpacked image lead
 * where they should and none leads out.
 *
 * Such a file decides what functions are called, and opening it is done with our rights, so it has
 * to be a plain file (proc/foreign.h) of somebody who decides that anyway: root, the owner of the
 * file that it belongs to, the user of the process, root of the process's user namespace; in the
 * named folder also the owner of that folder.
 */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "proc/elf.h"

/* One without a build id is read whole to be checked against its link: so much, for so long. */
#define DEBUG_CHECKED_MAX   (128 << 20)
#define DEBUG_CHECKED_MAX_S 2

/* Where a debug file was found, so that the next time it need not be searched and checked again
 * (which may mean to read all of it). Begin with zeroes. */
struct debug_found {
	bool searched;
	/* One was there that isn't taken: somebody else's, no plain file, or too much or too slow
	 * to be checked. */
	bool refused;
	char *path; /* NULL: there is none; allocated */
	enum debug_where { DEBUG_HERE, DEBUG_IN_ROOT, DEBUG_IN_FOLDER } where;
	struct stat stat;
};

/* -ENOMEM */
int debug_found_copy(struct debug_found *copy, const struct debug_found *found);

/* Where a process has the file mapped, and which file that is: to ask whose process it is. pid 0:
 * nowhere. */
struct debug_process {
	pid_t pid;
	uint64_t start, end;
	dev_t device;
	ino_t inode;
};

struct debug_search {
	int root_fd;		   /* O_PATH of the process's root; -1: the same as ours */
	const char *path;	   /* of the file, in that root, or as we see it there */
	const char *debugging_dir; /* a further root on this host, or NULL */
	struct debug_process process;
};

/* The debug file of the open file `fd`, checked to belong to it; -ENOENT. In a job. `found` learns
 * where it is. */
int debugfile_open(int fd, const struct debug_search *search, struct debug_found *found);

/* By build id alone, and on this host only (`debugging_dir` as above), of the open file whose image
 * that is: where nothing of a target can make it take long. -ENOENT */
int debugfile_of_build_id(int fd, const struct elf_image *image, const char *debugging_dir);

/* What the open file `fd` shares with other debug files (dwz's .gnu_debugaltlink), by its build id:
 * in the folders where debug files are, and their folder .dwz; whatever else its link says isn't
 * opened. -ENOENT. In a job. */
int debugfile_open_shared(int fd, const struct debug_search *search);

/* The debug file found before, if it is still the same: else a negative errno. In a job. */
int debugfile_open_again(const struct debug_search *search, const struct debug_found *found);
