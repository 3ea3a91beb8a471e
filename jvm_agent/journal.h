/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The file: records are appended as wholes; past the maximum a new one with what is alive takes its
 * place. All functions but journal_open() want the agent's lock. Nothing follows a symbolic link.
 */
#pragma once

#include "format.h"
#include "sys.h"
#include "table.h"

#define JOURNAL_FOLDER_MAX 256

struct journal {
	char folder_path[JOURNAL_FOLDER_MAX];
	int folder, fd; /* -1: closed */
	uint64_t len, max;
	uint64_t dead; /* bytes of what isn't alive any more */
	uint32_t rewrites;
	uint32_t methods_made;
	uint64_t began_ns, looked_ns;
	struct table methods; /* jmethodID -> number */
	struct table alive;   /* address -> where its record is: offset << 24 | bytes / 8 */
};

/* Makes the file in the folder, which has to be there. A negative errno. */
int journal_open(struct journal *journal, const char *folder, uint64_t max);
/* Without `keep` the file goes, and the folder if it is empty. */
void journal_close(struct journal *journal, bool keep);

/* Whether somebody may still read it: it is there, and a daemon has the folder locked (or hasn't
 * had the time). */
bool journal_is_read(struct journal *journal);

/* The record gets its length, its check and its time. -ENOSPC: no room; another errno: the
 * file can't be relied on any more. `rewrites` may have changed. */
int journal_add(struct journal *journal, struct bytes *record);

/* ---- journal_rewrite.c ---- */

/* A new file of what is alive. A negative errno: the old one is as it was. */
int journal_rewrite(struct journal *journal);
/* A new file with a header alone, under a name of its own: its fd. */
int journal_begin(const struct journal *journal);
int journal_write(int fd, const void *data, size_t bytes);
