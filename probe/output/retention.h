/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Removes old profiles: those past an age, and the oldest as long as all together are more than so
 * many bytes, below svg_dir and flame_dir together. An SVG and its folded text carry the same time
 * and go together.
 *
 * Only what output/store.h wrote: the exact place and form of name, a regular file with one link,
 * owned by us, in folders owned by us, reached without a symbolic link. Nothing else is touched or
 * counted. Folders of that form that are empty go too; a `latest.svg` that leads nowhere is led to
 * the newest file that is left, or goes.
 *
 * The age is that of the name, not the file's own time stamps: copying and touching change those.
 * A name that lies more than a day in the future was given by a wrong clock: it has no age, and
 * counts as the oldest when there is no room.
 *
 * Memory doesn't grow with the number of files. First all sizes are added up by day, then those of
 * the day in which the limit falls by second; that tells up to which second files go.
 */
#pragma once

#include "output/store.h"

#include <stdint.h>

struct retention_limits {
	int64_t days;	  /* 0: no limit */
	int64_t bytes;	  /* 0: no limit */
	int64_t interval; /* s between two runs, at least */
};

struct retention_setup {
	struct store_roots roots;	 /* borrowed */
	const char *svg_dir, *flame_dir; /* copied */
	const char *const *probes;	 /* names of the folders below them; borrowed */
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

/* Works for about `limit_ns`. True: there is more to do. Blocks as the file system does. */
bool retention_step(struct retention *retention, uint64_t limit_ns);

const struct retention_result *retention_result(const struct retention *retention);
