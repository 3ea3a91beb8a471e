/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads small files whole, writes files that appear whole or not at all, and opens folders without
 * following links. Any thread. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"

/* Reads all of an open file, or of `path` below `dir_fd` (or AT_FDCWD), into `out`. Returns 0, or a
 * negative errno: -ENOSPC if the file is larger than out's maximum. */
int file_read_fd(int fd, struct buf *out);
int file_read(int dir_fd, const char *path, struct buf *out);

/* Reads a small file of our own in `folder`, as file_replace() writes it. Returns 0, or a negative
 * errno: -EPERM if somebody else may have written the file; -ENOSPC as above. */
int file_read_own(const char *folder, const char *name, struct buf *out);

/* Reads `bytes` bytes of an open file, or fewer if the file ends before; *len says how many.
 * Returns 0, or a negative errno. */
int file_read_up_to(int fd, char *to, size_t bytes, size_t *len);

/* Writes all `bytes` bytes, also where one write() takes only a part, or none until there is room.
 * Returns 0, or a negative errno. */
int file_write_all(int fd, const char *data, size_t bytes);

/* How far along a path dir_open_below() came, as lengths of the path's beginning, in bytes. */
struct dir_steps {
	size_t found; /* before the first folder that was made; the whole path: none was made */
	size_t tried; /* up to the end of the folder that was tried last */
};

/*
 * Opens the folder `path` below the folder `root`, and makes the folders that are missing (mode
 * 0750, whatever the umask). Below `root` no symbolic link and no `..` is followed. Each folder
 * below `root` must belong to our user or to root, must not be writable by group or others, and may
 * have a setgid bit only if `root` has it too, with the same group. Returns the folder's
 * descriptor, which the caller owns, or a negative errno: -EACCES if a folder breaks these rules;
 * -ELOOP for a symbolic link; -ENOTDIR.
 */
int dir_open_below(const char *root, const char *path, struct dir_steps *steps);
int dir_open_in(int root_fd, const char *path);

/* Like dir_open_below(), but makes no folder: -ENOENT if a folder is missing. */
int dir_find_below(const char *root, const char *path, struct dir_steps *steps);

/*
 * Writes a file that appears whole or not at all (mode 0640) and never replaces another file: if
 * the name is taken, "-2", "-3" … is put before the extension (up to 1000, then -EEXIST). Where the
 * file system has no unnamed files (O_TMPFILE), the file is written in a temporary folder below
 * `root_fd` (same file system) and renamed. Stores the name in `name`. Returns 0, or a negative
 * errno.
 */
int file_write_new(int dir_fd, int root_fd, const char *stem, const char *extension,
		   const void *data, size_t bytes, char *name, size_t name_bytes);

/* Writes a small file of our own (mode 0600) that appears whole and replaces a file of that name.
 * Makes `folder` if it is missing (mode 0700). No symbolic link is followed for the file. Returns
 * 0, or a negative errno; the old file is untouched then. */
int file_replace(const char *folder, const char *name, const void *data, size_t bytes);

/* Makes `name` a symbolic link to `target`; replaces an older link of that name. Returns 0, or a
 * negative errno. */
int file_link_new(int dir_fd, int root_fd, const char *target, const char *name);

/* Removes the temporary files below `root_fd` of processes that have ended. */
void scratch_clean(int root_fd);
