/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cleaner: decides when old profiles are removed (output/files/retention): when folders are set or
 * change, after files were written, and every hour; not more often than the limits' interval, nor
 * than would take a hundredth of the time. Folders that it was never told may be another daemon's.
 * The work is done in jobs of a tenth of a second each, on the worker that may hang. Loop thread
 * only.
 *
 * Folders of earlier settings that files were written to are cleaned too, also those of a daemon
 * before us (profile/folder_list). A folder that hangs is left alone for an hour, and until the job
 * in it has returned; while 14 jobs hang the earlier folders are left alone. A folder that is
 * missing, or another's, for a day is forgotten.
 *
 * A clock that jumps ahead would make every file old: after a jump of more than an hour nothing is
 * removed by age for an hour, in which the clock may be set right.
 */
#pragma once

#include "loop/worker.h"
#include "output/files/retention.h"

struct cleaner;

struct cleaner_setup {
	struct loop *loop;
	struct worker *foreign;
	struct store_roots roots; /* its strings are borrowed */
	struct retention_limits limits;
	/*
	 * where the list of folders is kept for the next start; NULL or "": nowhere. Borrowed for
	 * the cleaner's life
	 */
	const char *state_dir;
};

/*
 * Creates a cleaner; the caller owns *ret. Before cleaner_set_folders() only earlier folders are
 * cleaned. Returns 0 or -ENOMEM.
 */
int cleaner_new(struct cleaner **ret, const struct cleaner_setup *setup);

/* Frees the cleaner; no job of it may run any more. */
void cleaner_free(struct cleaner *cleaner);

/* Sets where profiles lie (at most 1023 bytes each). New folders are cleaned at once. */
void cleaner_set_folders(struct cleaner *cleaner, const char *svg_dir, const char *flame_dir);

/* Notes that files are about to be written there. */
void cleaner_note_use(struct cleaner *cleaner, const char *svg_dir, const char *flame_dir);

/*
 * Notes that files were written there; all of each path but its first *_found bytes was made for
 * that.
 */
void cleaner_note_made(struct cleaner *cleaner, const char *svg_dir, size_t svg_found,
		       const char *flame_dir, size_t flame_found);

/*
 * Sets where the list of folders is kept from now on; borrowed as struct cleaner_setup.state_dir.
 */
void cleaner_set_state(struct cleaner *cleaner, const char *state_dir);

/*
 * Sets where files may lie from the next run on; the strings are borrowed for the cleaner's life.
 */
void cleaner_set_roots(struct cleaner *cleaner, const struct store_roots *roots);

/* Sets the limits; if they differ, a run follows at once. */
void cleaner_set_limits(struct cleaner *cleaner, const struct retention_limits *limits);

/* Tells that files were written. */
void cleaner_wake(struct cleaner *cleaner);

struct cleaner_stats {
	uint64_t removed, removed_bytes, failed; /* since the start */
	uint64_t files, bytes;			 /* kept by the last run with a limit of bytes */
};

/* Returns the statistics, borrowed. */
const struct cleaner_stats *cleaner_stats(const struct cleaner *cleaner);

/* Rows of struct cleaner_stats (measure/measure.h). */
extern const struct measures cleaner_measures;
