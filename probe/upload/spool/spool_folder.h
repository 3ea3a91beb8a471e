/* SPDX-License-Identifier: GPL-2.0-only */
/* Inside of the spool: spool.c (one body), spool_folder.c (the folder and its names), spool_list.c.
 */
#pragma once

#include "upload/spool/spool.h"

#define SPOOL_NAME_MAX 64

/* Ends of names. */
#define SPOOL_WAITS   ".body"
#define SPOOL_SENT    ".sent"
#define SPOOL_AGAIN   ".again"
#define SPOOL_WRITTEN ".tmp" /* and a dot at the begin */

void spool_name_make(const struct spool_key *key, const char *suffix, char name[SPOOL_NAME_MAX]);

/* False: it is another name. */
bool spool_name_read(const char *name, const char *suffix, struct spool_key *key);

/* The folder's descriptor; -ENOENT, -EPERM: it isn't ours alone, or what open() says. */
int spool_open(const char *folder);

/* Makes it where it is missing. */
int spool_open_or_make(const char *folder);

/* 0 where `from` became `to`; no other file is replaced (-EEXIST). */
int spool_move(int dir_fd, const char *from, const char *to);

/* 0 too where there is none. */
int spool_drop(int dir_fd, const char *name);
