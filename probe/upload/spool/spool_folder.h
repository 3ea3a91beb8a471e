/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The spool's folder and its files' names. Private to spool.c (one body), spool_folder.c and
 * spool_list.c. */
#pragma once

#include "upload/spool/spool.h"

#define SPOOL_NAME_MAX 64

/* Suffixes of names. */
#define SPOOL_WAITS   ".body"
#define SPOOL_SENT    ".sent"
#define SPOOL_AGAIN   ".again"
#define SPOOL_WRITTEN ".tmp" /* these names also begin with a dot */

/* Makes the name of a body's file. */
void spool_name_make(const struct spool_key *key, const char *suffix, char name[SPOOL_NAME_MAX]);

/* Parses a name with that suffix; false: another name. */
bool spool_name_read(const char *name, const char *suffix, struct spool_key *key);

/* Opens the folder. Returns its descriptor, or a negative errno: -ENOENT; -EPERM if it isn't ours
 * alone; others of open(). */
int spool_open(const char *folder);

/* Opens the folder; makes it, and its parent, if they are missing. */
int spool_open_or_make(const char *folder);

/* Renames a file. Returns 0, or a negative errno: -EEXIST if `to` exists (where the file system
 * can check that). */
int spool_move(int dir_fd, const char *from, const char *to);

/* Removes a file. Returns 0, also if there is none, or a negative errno. */
int spool_drop(int dir_fd, const char *name);
