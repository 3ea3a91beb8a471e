/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * When old profiles are removed (output/files/retention): when the folders are told or change,
 * after files were written, and every hour. Folders that it was never told may be another daemon's.
 * Never more often than the limits' interval, nor than that it takes a hundredth of the time. In
 * jobs of a tenth of a second each, on the worker that may hang.
 *
 * The folders of earlier settings that files were written to are cleaned, too, also those that a
 * daemon before us wrote to (profile/folder_list). A folder that hangs is left alone for an hour,
 * and until the look at it has returned; while 14 looks hang the earlier folders are left alone.
 * One that is missing or another's is forgotten after a day of that.
 *
 * A clock that jumps ahead would make every file old: after a jump of more than an hour nothing is
 * removed by age for an hour, in which it may be set right.
 */
#pragma once

#include "loop/worker.h"
#include "output/files/retention.h"

struct cleaner;

struct cleaner_setup {
	struct loop *loop;
	struct worker *foreign;
	struct store_roots roots; /* borrowed contents */
	struct retention_limits limits;
	const char *state_dir; /* where the folders are kept for the next start; NULL, "": nowhere.
				* Lives as long as the cleaner */
};

/* Before it is told the present folders the earlier ones alone are cleaned. -ENOMEM */
int cleaner_new(struct cleaner **ret, const struct cleaner_setup *setup);

/* When no job runs any more. */
void cleaner_free(struct cleaner *cleaner);

/* Where profiles lie (at most 1023 bytes each). Other folders than before are cleaned at once. */
void cleaner_set_folders(struct cleaner *cleaner, const char *svg_dir, const char *flame_dir);

/* Files are about to be written there. */
void cleaner_note_use(struct cleaner *cleaner, const char *svg_dir, const char *flame_dir);

/* They were, for which all of these paths but so many bytes was made. */
void cleaner_note_made(struct cleaner *cleaner, const char *svg_dir, size_t svg_found,
		       const char *flame_dir, size_t flame_found);

/* Where the list of folders is kept from now on. */
void cleaner_set_state(struct cleaner *cleaner, const char *state_dir);

/* Where files may lie from the next run on; the strings live as long as the cleaner. */
void cleaner_set_roots(struct cleaner *cleaner, const struct store_roots *roots);

/* Other limits count from now on; where they are others, a run follows at once. */
void cleaner_set_limits(struct cleaner *cleaner, const struct retention_limits *limits);

/* Files were written. */
void cleaner_wake(struct cleaner *cleaner);

struct cleaner_stats {
	uint64_t removed, removed_bytes, failed; /* since the start */
	uint64_t files, bytes;			 /* kept by the last run with a limit of bytes */
};
const struct cleaner_stats *cleaner_stats(const struct cleaner *cleaner);
