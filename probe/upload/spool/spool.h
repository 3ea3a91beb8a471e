/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Spool: bodies that wait on disk, each in a file of its own in one folder (mode 0700, files 0600):
 *
 *	<until_ns>-<number>.body	the body waits
 *	<until_ns>-<number>.sent	the body was being sent, with unknown outcome: the server
 *					may have it
 *	<until_ns>-<number>.again	the body was being sent while the server might have it from
 *					an earlier request
 *	.<until_ns>-<number>.tmp	the file is being written
 *
 * Both numbers have 20 digits, so names sort by age. A file has struct spool_header, the three
 * texts each with its NUL, the bytes; a CRC32 over all shows damage. A file appears whole. It isn't
 * synced: a crash of the machine costs the bodies of a few seconds.
 *
 * Each call opens and closes the folder and may hang as the file system does: for jobs. A folder is
 * refused if it isn't ours or others may write to it (-EPERM), or if it is a symbolic link (-ELOOP,
 * -ENOTDIR). No link in the folder is followed; files of other names are left alone.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "upload/http/body.h"

#define SPOOL_BODIES_MAX 100000

struct spool_key {
	int64_t until_ns; /* the body's until_ns; never negative */
	uint64_t number;  /* tells bodies of one time apart; a later body has a larger number */
};

/* Compares by age: negative if `a` is older, 0 if equal, positive if `a` is younger. */
int spool_compare(const struct spool_key *a, const struct spool_key *b);

/* Locks the folder for this process (flock) as long as the returned descriptor is open; `make`:
 * makes a missing folder. Returns the descriptor, or a negative errno: -EBUSY if another process
 * has the lock; others. On a file system without locks (NFS) other processes aren't kept out. */
int spool_claim(const char *folder, bool make);

/* Returns the size of the body's file. */
uint64_t spool_file_bytes(const struct body *body);

/* Writes the body's file, and makes the folder if it is missing. Returns 0, or a negative errno:
 * then there is no file. */
int spool_write(const char *folder, const struct spool_key *key, const struct body *body);

/*
 * Marks the body as being sent (.body becomes .sent, .sent becomes .again), then reads it; the
 * caller owns *ret. On failure the mark is taken back. Returns 0, or a negative errno: -ENOENT if
 * the file is gone; -EBADMSG if it is damaged: it was removed; -ELOOP if it is no file of ours: it
 * stays. Other errors may pass (-EMFILE, -ENOMEM).
 */
int spool_load(const char *folder, const struct spool_key *key, struct body **ret);

/* Marks the body as not being sent any more: .again becomes .sent if `maybe` (the server may have
 * the body), else .sent becomes .body. Returns 0, also if the body has another mark or is gone, or
 * a negative errno. */
int spool_mark_back(const char *folder, const struct spool_key *key, bool maybe);

/* Removes the body's file, whatever its mark. Returns 0, also if there is none, or a negative
 * errno. */
int spool_remove(const char *folder, const struct spool_key *key);

struct spool_found {
	struct spool_key key;
	uint64_t bytes;	 /* of the file */
	unsigned doubts; /* 0: .body, 1: .sent, 2: .again */
};

struct spool_list {
	struct spool_found *found; /* oldest first */
	size_t count;
};

/* Lists the bodies, at most SPOOL_BODIES_MAX, and removes the .tmp files of killed daemons. The
 * caller zeroes *list before and frees it by spool_list_done(). Returns 0 (also if there is no
 * folder), or a negative errno; then *list is untouched. */
int spool_list(const char *folder, struct spool_list *list);
void spool_list_done(struct spool_list *list);
