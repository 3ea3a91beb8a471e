/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * List of folders that profiles' files were written to, also those of earlier settings: what
 * retention works on. Kept over restarts in <state_dir>/folders (ours alone, mode 0600), in the
 * order of last use:
 *
 *	<svg or folded> <bytes of the path that stackprobe didn't make> <path>
 *
 * A path has no control character (api/request/request_params.c). Loop thread only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FOLDER_LIST_MAX 128 /* 64 pairs of svg_dir and flame_dir */

struct folder_row {
	char *path;
	bool folded; /* true: folded text; false: pictures */
	/* bytes of the path that existed before; its length: nothing was made */
	size_t found;
	uint64_t used; /* number of its last use, see folder_list_add() */
	/* since when it is missing, time since boot; 0: it isn't, or wasn't looked for */
	int64_t missing_since_s;
};

struct folder_list {
	struct folder_row rows[FOLDER_LIST_MAX];
	size_t count;
	uint64_t uses;
	const char *state_dir; /* borrowed; NULL or "": the list is in memory only */
};

/*
 * Reads the list of a daemon before us. Returns 0; -ENOENT if there is none; -EPERM if the file
 * isn't ours alone; -EINVAL if it is damaged: rows before that are kept; another negative errno.
 */
int folder_list_read(struct folder_list *list);
void folder_list_done(struct folder_list *list);

/*
 * Notes that a folder is in use, and that `found` bytes of its path existed before. Returns 1 if
 * that is new, and to be written; 0 if not; -ENOMEM. If there is no room, the row unused for
 * longest is removed, and *forgotten is its path, which the caller frees (else NULL).
 */
int folder_list_add(struct folder_list *list, const char *path, bool folded, size_t found,
		    char **forgotten);
void folder_list_remove(struct folder_list *list, size_t row);

/* Writes the list. Returns 0 or a negative errno. */
int folder_list_write(const struct folder_list *list);
