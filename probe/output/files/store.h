/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where profiles are kept as files:
 *
 *	<svg_dir>/<probe>/<YYYY-MM-DD>/<YYYY-MM-DD-HH-MM-SS>.svg
 *	<svg_dir>/<probe>/<comm>-<pid>/<YYYY-MM-DD>/<YYYY-MM-DD-HH-MM-SS>-<pid>.svg
 *
 * and the folded text at the same relative path below flame_dir. Local time; in the hour that the
 * end of summer time repeats, the UTC offset is appended. Folders are opened anew for each file and
 * made where they are missing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "base/buf.h"

#define STORE_PATH_MAX 4096

/* Folders below which output may lie; borrowed. */
struct store_roots {
	const char *const *paths;
	size_t count;
};

/* A copy of its own, for who may outlive the conf file's: a job that hangs. -ENOMEM */
int store_roots_copy(struct store_roots *to, const struct store_roots *from);
void store_roots_done(struct store_roots *copy);

/*
 * Opens (and makes) a folder that a user named. -EINVAL: not an absolute path or one with `..`;
 * -EPERM: below none of the roots; -EACCES: a folder on the way isn't ours alone (base/file.h);
 * -ELOOP, -ENOTDIR, errno. Removes what killed daemons left. `found` gets how many bytes of the
 * path were there before, all where nothing was made.
 */
int store_open_folder(const struct store_roots *roots, const char *path, size_t *found);

/* The same without making or removing anything: -ENOENT where it isn't there. */
int store_find_folder(const struct store_roots *roots, const char *path);

/* The root that holds a path, and where in `path` it goes on below that. Touches no file system.
 * -EINVAL, -EPERM as above. */
int store_split_path(const struct store_roots *roots, const char *path, char root[STORE_PATH_MAX],
		     const char **below);

/*
 * Whether files could be written to that folder, which may still have to be made; makes nothing.
 * Negative errno and the rest of a sentence "… <why>". May hang as the file system does.
 */
int store_check_folder(const char *root, const char *below, char *why, size_t why_bytes);

/* Removes the folder and those above it that are behind `found` bytes of the path, as long as they
 * are empty and ours. */
void store_remove_made(const struct store_roots *roots, const char *path, size_t found);

/* strerror(), for the errors of this header. */
const char *store_error_text(int error);

/* One file. */
struct store_entry {
	const char *probe;
	const char *comm; /* NULL: of all processes */
	int pid;
	time_t until;
	const char *extension; /* ".svg" */
	const char *latest; /* name of the link to the newest, beside the date folders; or NULL */
};

/*
 * Writes a file. `stem` is the name without extension: empty, it is made from the time and
 * returned, so that the next file of the same profile gets the same. `found`: as of
 * store_open_folder(), also where it fails. Negative errno.
 */
int store_write(const struct store_roots *roots, const char *folder,
		const struct store_entry *entry, const struct buf *content, char stem[128],
		size_t *found);

/* A file name from a process name: all but A-Z a-z 0-9 . _ + - becomes `_`, a leading dot too. */
void store_safe_name(const char *name, char *safe, size_t bytes);

/* The name of a moment. */
void store_time_name(time_t moment, char *name, size_t bytes);
