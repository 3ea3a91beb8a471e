/* SPDX-License-Identifier: GPL-2.0-only */
/* Reading small files whole, and writing files that appear whole. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"

/* Reads all of an open file, or of `path` below `dir_fd` (AT_FDCWD), into `out`. -ENOSPC when it
 * is larger than out's maximum; else the negative errno of open or read. */
int file_read_fd(int fd, struct buf *out);
int file_read(int dir_fd, const char *path, struct buf *out);

/* Reads a small file of our own in `folder`, as file_replace() writes it. -EPERM: somebody else
 * may have written it; else as above. */
int file_read_own(const char *folder, const char *name, struct buf *out);

/* Reads so many bytes of an open file, or to its end: *len. Negative errno. */
int file_read_up_to(int fd, char *to, size_t bytes, size_t *len);

/* Writes all of it, also where one write() takes a part only. Negative errno. */
int file_write_all(int fd, const char *data, size_t bytes);

/* How far a path was gone. */
struct dir_steps {
	size_t found; /* bytes of the path before the first folder that was made; its length: none
		       */
	size_t tried; /* bytes of the path up to the end of the folder that was opened last */
};

/*
 * Opens the folder `path`, below `root`, making what is missing (mode 0750, whatever the umask). No
 * symbolic link is followed below the root, nor `..`. Each folder on the way, but the root, has to
 * be ours (or root's) and not writable by its group or others, and without a setgid bit other than
 * the root's own: else -EACCES. Returns the folder's fd, -ELOOP for a link, -ENOTDIR, or another
 * negative errno.
 */
int dir_open_below(const char *root, const char *path, struct dir_steps *steps);
int dir_open_in(int root_fd, const char *path);

/* The same, but nothing is made: -ENOENT where something is missing. */
int dir_find_below(const char *root, const char *path, struct dir_steps *steps);

/*
 * Writes a file that appears whole or not at all (mode 0640) and never replaces another: when
 * the name is taken, "-2", "-3" … is put before the extension. Where the file system has no
 * unnamed files, a temporary name in a folder of `root_fd` (same file system) is used and renamed.
 * `name` gets the name used. Negative errno.
 */
int file_write_new(int dir_fd, int root_fd, const char *stem, const char *extension,
		   const void *data, size_t bytes, char *name, size_t name_bytes);

/* Writes a small file of our own that appears whole, in place of the one there (mode 0600), in a
 * folder that is made where it is missing (mode 0700). No symbolic link is followed for the file.
 * Negative errno: what was there is untouched. */
int file_replace(const char *folder, const char *name, const void *data, size_t bytes);

/* Makes `name` a symbolic link to `target`, in place of the link that it may be. Negative errno. */
int file_link_new(int dir_fd, int root_fd, const char *target, const char *name);

/* Removes the temporary files below `root_fd` that processes left which are gone. */
void scratch_clean(int root_fd);
