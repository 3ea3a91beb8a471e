/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Search for separate debug files, as GDB does it: by build id, then by .gnu_debuglink. Searched
 * are the process's own root, this host's root, and a folder that the user named. Links are
 * followed as if each of them were the root folder: so no link leads out, and the links of an
 * unpacked image lead where they should.
 *
 * A debug file decides how functions are named, and it is opened with our rights. So it has to be a
 * plain file (proc/foreign.h) and belong to somebody who decides that anyway: root, the owner of
 * the stripped file, the user of the process, root of the process's user namespace; in the named
 * folder also the owner of that folder.
 */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "proc/elf.h"

/* A debug file without a build id is read whole, to check the CRC of its link: bytes, seconds. */
#define DEBUG_CHECKED_MAX   (128 << 20)
#define DEBUG_CHECKED_MAX_S 2

/* Where a debug file was found, so that it need not be searched and checked again (which may mean
 * to read all of it). Begin with zeroes; the caller frees `path`. */
struct debug_found {
	bool searched;
	/* A debug file was there but was refused: it is somebody else's, is no plain file, or is
	 * too large or too slow to be checked. */
	bool refused;
	char *path; /* in the root that `where` names; NULL: there is no debug file */
	enum debug_where { DEBUG_HERE, DEBUG_IN_ROOT, DEBUG_IN_FOLDER } where;
	struct stat stat;
};

/* Copies *found with its path; returns 0 or -ENOMEM. */
int debug_found_copy(struct debug_found *copy, const struct debug_found *found);

/* Where a process has the file mapped, and which file that is: used to find out the process's user.
 * pid 0: no process. */
struct debug_process {
	pid_t pid;
	uint64_t start, end;
	dev_t device;
	ino_t inode;
};

struct debug_search {
	int root_fd;		   /* O_PATH of the process's root; -1: its root is ours */
	const char *path;	   /* of the file: below the process's root, or below ours */
	const char *debugging_dir; /* the folder that the user named, or NULL */
	struct debug_process process;
};

/* The functions below return a descriptor that the caller owns, or a negative errno. Call them in a
 * job: what they read may hang. */

/* Opens the debug file of the open file `fd` and checks that it belongs to `fd`. *found says where
 * the debug file is. -ENOENT: there is none; -ENOMEM; an errno of reading `fd`. */
int debugfile_open(int fd, const struct debug_search *search, struct debug_found *found);

/* Opens the debug file of the open file `fd`, whose image is `image`, by build id alone, and only
 * on this host or in `debugging_dir`, so that no target can slow it down. -ENOENT, -ENOMEM. */
int debugfile_of_build_id(int fd, const struct elf_image *image, const char *debugging_dir);

/* Opens the file that the debug file `fd` shares with others (dwz's .gnu_debugaltlink), by its
 * build id: in the folders of debug files and in their folder .dwz; no other path in the link is
 * opened. -ENOENT: there is none; -ENOMEM; an errno of reading `fd`. */
int debugfile_open_shared(int fd, const struct debug_search *search);

/* Opens the debug file that was found before. -ESTALE: that file has changed, or isn't taken any
 * more; -ENOENT; an errno of opening it. */
int debugfile_open_again(const struct debug_search *search, const struct debug_found *found);
