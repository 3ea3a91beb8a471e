/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The file store: where profiles are kept as files, and how they are written.
 *
 *	<svg_dir>/<probe>/<YYYY-MM-DD>/<YYYY-MM-DD-HH-MM-SS>.svg
 *	<svg_dir>/<probe>/<comm>-<pid>/<YYYY-MM-DD>/<YYYY-MM-DD-HH-MM-SS>-<pid>.svg
 *
 * A profile of what was before something has "-before" behind the time (and the pid).
 *
 * The folded text has the same relative path below flame_dir. Names have local time; in the hour
 * that the end of summer time repeats, the UTC offset is appended. Folders are opened anew for each
 * file, and made if they are missing. Any thread; all but store_split_path() and the functions for
 * names may hang as the file system does.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "base/buf.h"
#include "base/why.h"

#define STORE_PATH_MAX 4096

/* The folders (roots) below which users may put output; borrowed. */
struct store_roots {
	const char *const *paths;
	size_t count;
};

/* Makes a copy with texts of its own, for a job that hangs and may outlive the conf file's roots.
 * Returns 0, or -ENOMEM. */
int store_roots_copy(struct store_roots *to, const struct store_roots *from);
void store_roots_done(struct store_roots *copy);

/*
 * Opens a folder that a user named, makes it if it is missing, and removes unfinished files of
 * killed daemons. Returns the descriptor, or a negative errno: -EINVAL if the path is not absolute,
 * has `..` or is too long; -EPERM if it is below none of the roots; -EACCES if a folder on the way
 * isn't ours alone (base/file.h); -ELOOP for a symbolic link; -ENOTDIR; others. *found: bytes of
 * the path that existed before; all: nothing was made.
 */
int store_open_folder(const struct store_roots *roots, const char *path, size_t *found);

/* Opens a folder like store_open_folder(), but makes and removes nothing: -ENOENT if it is
 * missing. */
int store_find_folder(const struct store_roots *roots, const char *path);

/* Finds the root that holds a path (the longest); *below: the rest of `path`. Touches no file
 * system. Returns 0, or -EINVAL, -EPERM as store_open_folder(). */
int store_split_path(const struct store_roots *roots, const char *path, char root[STORE_PATH_MAX],
		     const char **below);

/* Checks whether files could be written to a folder, which need not exist yet; makes nothing.
 * Returns 0, or a negative errno with the rest of a sentence in `why`: "can't be used: …". */
int store_check_folder(const char *root, const char *below, struct why *why);

/* Removes the folder and the folders above it, down to `found` bytes of the path, as long as they
 * are empty and ours. */
void store_remove_made(const struct store_roots *roots, const char *path, size_t found);

/* Returns the text of an error of this header; borrowed as from strerror(). */
const char *store_error_text(int error);

/* What decides the place and the name of a file. */
struct store_entry {
	const char *probe;
	const char *comm; /* NULL: the file is of all processes */
	int pid;
	time_t until;	       /* end of the profile */
	const char *extension; /* ".svg" */
	const char *latest;    /* name of a link to the newest file, beside the dates; NULL: none */
	bool before;	       /* the name has FILENAME_BEFORE */
};

/*
 * Writes a file. `stem` is the name without extension; an empty one is made from the time. `stem`
 * gets the name used, so that the next file of the same profile can have the same name. *found: as
 * in store_open_folder(), also on failure. Returns 0, or a negative errno.
 */
int store_write(const struct store_roots *roots, const char *folder,
		const struct store_entry *entry, const struct buf *content, char stem[128],
		size_t *found);

/* Makes a file name of a process name: all but A-Z a-z 0-9 . _ + - becomes `_`, a leading dot
 * too. */
void store_safe_name(const char *name, char *safe, size_t bytes);

/* Makes the name of a moment, in local time. */
void store_time_name(time_t moment, char *name, size_t bytes);
