/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Removes old profiles: those past an age, and the oldest as long as all together are more than so
 * many bytes, below svg_dir and flame_dir together. An SVG and its folded text carry the same time
 * and go together.
 *
 * Folders that files were written to under earlier settings are cleaned along with these two, days
 * and bytes are those of all together. What stackprobe made of an earlier one goes when nothing is
 * left in it.
 *
 * Only what output/files/store.h wrote: the exact place and form of name, a regular file with one
 * link, owned by us, in folders owned by us, reached without a symbolic link. Nothing else is
 * touched or counted, but what killed daemons left unfinished goes. Folders of that form that are
 * empty go too; a `latest.svg` that leads nowhere is led to the newest file that is left, or goes.
 *
 * The age is that of the name, not the file's own time stamps: copying and touching change those.
 * A name that lies more than a day in the future was given by a wrong clock: it has no age, and
 * counts as the oldest when there is no room.
 *
 * Memory doesn't grow with the number of files. First all sizes are added up by day, then those of
 * the day in which the limit falls by second; that tells up to which second files go.
 */
#pragma once

#include "output/files/store.h"

#include <stdint.h>

struct retention_limits {
	int64_t days;	  /* 0: no limit */
	int64_t bytes;	  /* 0: no limit */
	int64_t interval; /* s between two runs, at least */
};

/* A folder of an earlier setting. */
struct retention_folder {
	const char *path;
	bool folded;  /* it has text; else pictures */
	size_t found; /* bytes of the path that stackprobe didn't make; all: it made nothing */
};

struct retention_setup {
	struct store_roots roots;		/* copied */
	const char *svg_dir, *flame_dir;	/* copied; NULL: left out */
	const struct retention_folder *earlier; /* copied; below none of the roots: left alone */
	size_t earlier_count;
	const char *const *probes; /* names of the folders below them; static */
	size_t probes_count;
	struct retention_limits limits;
	time_t now;
};

struct retention_result {
	uint64_t removed, removed_bytes; /* files */
	uint64_t failed;		 /* that could not be removed or read: files, folders */
	int error;			 /* negative errno of the last one of these; else 0 */
	uint64_t files, bytes;		 /* all there were, where there is a limit of bytes */
};

struct retention;

/* -ENOMEM */
int retention_new(struct retention **ret, const struct retention_setup *setup);
void retention_free(struct retention *retention);

/* The folder that it is busy with, "" where that is none; the text lives as long as the retention.
 * From any thread, also while a step hangs. */
const char *retention_path(const struct retention *retention, bool *folded);

/* What became of an earlier folder. */
enum retention_end {
	RETENTION_STAYS,   /* there are files of ours in it, or that can't be told */
	RETENTION_EMPTIED, /* the last of what was ours went */
	RETENTION_MISSING, /* it isn't there, or nothing in it is ours; it may be a mount's that
			      comes */
	RETENTION_TAKEN,   /* it is another's now, or no folder, or behind a symbolic link */
};

/* At the end. */
enum retention_end retention_end(const struct retention *retention, size_t earlier);

/* Works for about `limit_ns`. True: there is more to do. Blocks as the file system does. */
bool retention_step(struct retention *retention, uint64_t limit_ns);

const struct retention_result *retention_result(const struct retention *retention);
