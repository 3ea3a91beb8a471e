/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * List of files whose reading was given up. Such a file isn't read for ten minutes; a file that
 * hung is read earlier if its old job has returned.
 *
 * One file doesn't speak for its file system, as the file's owner decides how it behaves. A file
 * system counts as hanging when three of its files hang that belong to at least two owners; for the
 * files of one owner also when three of his files hang. A slow file says nothing of other files.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "loop/worker.h"

#define HUNG_FILES_MAX 64

/* Tells whether a job that reads a file has returned; shared with the job. */
struct hung_run;

struct hung_file {
	uint64_t device, inode;
	uint64_t whose; /* the file's user, job_of() */
	/* symbol_file_where() if reading the debug file was slow or hung: that says nothing of the
	 * same file for processes whose debug file is searched elsewhere. 0: the file itself was.
	 */
	uint64_t where;
};

/* Begins with zeroes; a new entry replaces the oldest. */
struct hung_fs {
	struct {
		struct hung_file file;
		uint64_t until_ns; /* CLOCK_MONOTONIC; 0: no entry */
		bool is_slow;	   /* the job computed for too long */
		bool is_alone;	   /* perhaps another file system hangs than the file's */
		struct hung_run *run;
	} each[HUNG_FILES_MAX];
	unsigned next;
};

/* Returns NULL without memory; then the list can't learn when the job has returned. */
struct hung_run *hung_run_new(void);
/* Tells that the job has returned, and drops the job's reference. Any thread; NULL is allowed. */
void hung_run_end(struct hung_run *run);

/* Adds a file whose job hangs, perhaps (`alone`) in another file than this, or computes for too
 * long. Does nothing after any other end of the job. */
void hung_fs_add(struct hung_fs *hung, const struct hung_file *file, enum job_end end,
		 struct hung_run *run, bool alone);

enum hung_verdict { HUNG_NOT, HUNG_SLOW, HUNG_HANGS };
enum hung_verdict hung_fs_has(struct hung_fs *hung, const struct hung_file *file);

void hung_fs_done(struct hung_fs *hung);
