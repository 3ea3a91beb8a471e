/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The folders that profiles' files were written to, those of earlier settings too: what retention
 * goes over. Kept over restarts in <state_dir>/folders (ours alone, mode 0600), in the order of
 * their last use:
 *
 *	<svg or folded> <bytes of the path that stackprobe didn't make> <path>
 *
 * A path has no control character (api/request/request_params.c).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FOLDER_LIST_MAX 128 /* 64 pairs of svg_dir and flame_dir */

struct folder_row {
	char *path;
	bool folded;   /* it has text; else pictures */
	size_t found;  /* bytes of the path that were there; its length: nothing was made */
	uint64_t used; /* grows with each use, see folder_list_add() */
	int64_t missing_since_s; /* time since boot; 0: it was there, or wasn't looked for */
};

struct folder_list {
	struct folder_row rows[FOLDER_LIST_MAX];
	size_t count;
	uint64_t uses;
	const char *state_dir; /* borrowed; NULL or "": the list is in memory alone */
};

/* Reads what a daemon before us left. -ENOENT: nothing; -EPERM: the file isn't ours alone; -EINVAL:
 * it is damaged, rows before that count; or another negative errno. */
int folder_list_read(struct folder_list *list);
void folder_list_done(struct folder_list *list);

/*
 * A folder is used from now on, or `found` bytes of its path were there before it was. 1: that is
 * new, and to be written; 0. Where there is no room the row goes that was unused for longest, and
 * `forgotten` (its caller's to free, else NULL) is its path. -ENOMEM
 */
int folder_list_add(struct folder_list *list, const char *path, bool folded, size_t found,
		    char **forgotten);
void folder_list_remove(struct folder_list *list, size_t row);

/* Writes it. Negative errno. */
int folder_list_write(const struct folder_list *list);
