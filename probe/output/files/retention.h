/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Retention: removes profiles that are older than `days`, then the oldest until all have at most
 * `bytes`, below svg_dir and flame_dir together. An SVG and its folded text carry the same time and
 * are removed together. The folders of earlier settings are cleaned too, under the same limits; an
 * earlier folder that has become empty is removed, as far as stackprobe made it.
 *
 * Only files that output/files/store.h wrote are counted and removed: a regular file with one link
 * and our uid, with the exact form of name and place, in folders of our uid, reached without a
 * symbolic link. Empty folders of that form and unfinished files of killed daemons are removed too.
 * A `latest.svg` whose file is gone is linked to the newest file that is left, or removed.
 *
 * The age is that of the name, not of the file's time stamps: copying and touching change those. A
 * name more than a day in the future was given by a wrong clock: such a file has no age, and counts
 * as the oldest when bytes have to go.
 *
 * Memory doesn't grow with the number of files. The first pass sums all sizes by day, the second
 * sums the day in which the limit falls by second, the third removes the files before that second.
 *
 * One thread at a time, in a job: each call may block as the file system does.
 */
#pragma once

#include "output/files/store.h"

#include <stdint.h>

struct retention_limits {
	int64_t days;	  /* 0: no limit */
	int64_t bytes;	  /* 0: no limit */
	int64_t interval; /* s between two runs, at least; the caller's matter */
};

/* A folder of an earlier setting. */
struct retention_folder {
	const char *path;
	bool folded;  /* the folder has folded text; else SVGs */
	size_t found; /* bytes of the path that stackprobe didn't make; all: it made nothing */
};

struct retention_setup {
	struct store_roots roots;		/* copied */
	const char *svg_dir, *flame_dir;	/* copied; NULL: not cleaned */
	const struct retention_folder *earlier; /* copied; one below none of the roots stays */
	size_t earlier_count;
	const char *const *probes; /* names of the probes' folders; static */
	size_t probes_count;
	struct retention_limits limits;
	time_t now;
};

struct retention_result {
	uint64_t removed, removed_bytes; /* files removed, and their bytes */
	uint64_t failed;		 /* files and folders that could not be removed or read */
	int error;			 /* negative errno of the last failure; 0: none */
	uint64_t files, bytes;		 /* files before the run; counted if bytes are limited */
};

struct retention;

/* Makes a run; nothing is read yet. The caller owns *ret. Returns 0, or -ENOMEM. */
int retention_new(struct retention **ret, const struct retention_setup *setup);
void retention_free(struct retention *retention);

/* Returns the folder that the run is reading, or ""; borrowed until retention_free(). Any thread,
 * also while a step hangs. */
const char *retention_path(const struct retention *retention, bool *folded);

/* What became of an earlier folder. */
enum retention_end {
	RETENTION_STAYS,   /* it has files or folders of ours, or could not be read */
	RETENTION_EMPTIED, /* the last folder of ours in it was removed */
	RETENTION_MISSING, /* it doesn't exist (a mount may be missing), or has nothing of ours */
	RETENTION_TAKEN,   /* it is another user's, is no folder, or is behind a symbolic link */
};

/* Returns what became of setup's earlier[`earlier`]; to be called when the run has ended. */
enum retention_end retention_end(const struct retention *retention, size_t earlier);

/* Works for about `limit_ns`. Returns true if there is more to do. */
bool retention_step(struct retention *retention, uint64_t limit_ns);

/* Returns the counts until now; borrowed until retention_free(). */
const struct retention_result *retention_result(const struct retention *retention);
