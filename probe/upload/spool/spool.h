/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Bodies that wait on disk, each in a file of its own in one folder (mode 0700, files 0600):
 *
 *	<until_ns>-<number>.body	waits
 *	<until_ns>-<number>.sent	was being sent, and nobody has said how that ended: the
 *					server may have it
 *	<until_ns>-<number>.again	the same of one that the server may have had before
 *	.<until_ns>-<number>.tmp	is being written
 *
 * Both numbers have 20 digits, so names are in the order of age. The file: struct spool_header, the
 * three texts each with its NUL, the bytes; CRC32 of all. It appears whole, and damage is told by
 * the CRC. It isn't synced, for what a crash of the machine takes is a few seconds' bodies.
 *
 * Each call opens the folder and closes it, and blocks as the file system does: for jobs. A folder
 * that isn't ours or that others may write to is refused (-EPERM), one that is a link (-ELOOP,
 * -ENOTDIR). No link is followed in it, what isn't one of the files above is left alone.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "upload/http/body.h"

#define SPOOL_BODIES_MAX 100000

struct spool_key {
	int64_t until_ns; /* the body's; never negative */
	uint64_t number;  /* tells those of one time apart; later ones have larger ones */
};

/* Negative, 0, positive: a is older, the same, younger. */
int spool_compare(const struct spool_key *a, const struct spool_key *b);

/* Makes the folder this process's alone, as long as the descriptor is open; `make`: also where it
 * is missing. -EBUSY: another process has it. Where the file system can't promise that (NFS),
 * nobody is kept out. */
int spool_claim(const char *folder, bool make);

/* What the body's file has. */
uint64_t spool_file_bytes(const struct body *body);

/* Negative errno: nothing is there. */
int spool_write(const char *folder, const struct spool_key *key, const struct body *body);

/*
 * Marks the body as being sent (.body becomes .sent, .sent .again), then reads it. -ENOENT: it
 * isn't there any more; -EBADMSG: damaged, it is removed; -ELOOP: no file of ours, it is left
 * alone. Others may pass (-EMFILE, -ENOMEM).
 */
int spool_load(const char *folder, const struct spool_key *key, struct body **ret);

/* Nobody sends it any more; `maybe`: the server may have it, from this time or one before. 0 too
 * where it is marked so already. */
int spool_mark_back(const char *folder, const struct spool_key *key, bool maybe);

/* Whichever it is. 0 too where there is none. */
int spool_remove(const char *folder, const struct spool_key *key);

struct spool_found {
	struct spool_key key;
	uint64_t bytes;
	unsigned doubts; /* 0: .body, 1: .sent, 2: .again */
};

struct spool_list {
	struct spool_found *found; /* oldest first */
	size_t count;
};

/* All that is there, at most SPOOL_BODIES_MAX; what killed daemons were writing is removed. No
 * folder: none. Negative errno. */
int spool_list(const char *folder, struct spool_list *list);
void spool_list_done(struct spool_list *list);
