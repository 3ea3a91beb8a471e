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

/* Opens (and makes) a folder that a user named. -EINVAL: not an absolute path or one with `..`;
 * -EPERM: below none of the roots; -ELOOP, -ENOTDIR, errno. Removes what killed daemons left. */
int store_open_folder(const struct store_roots *roots, const char *path);

/* The same without making or removing anything: -ENOENT where it isn't there. */
int store_find_folder(const struct store_roots *roots, const char *path);

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
 * returned, so that the next file of the same profile gets the same. Negative errno.
 */
int store_write(const struct store_roots *roots, const char *folder,
		const struct store_entry *entry, const struct buf *content, char stem[128]);

/* A file name from a process name: all but A-Z a-z 0-9 . _ + - becomes `_`, a leading dot too. */
void store_safe_name(const char *name, char *safe, size_t bytes);

/* The name of a moment. */
void store_time_name(time_t moment, char *name, size_t bytes);
