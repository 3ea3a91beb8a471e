/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Files that were given up: nothing is asked of them for ten minutes, or, of those that hung, until
 * they have answered at last.
 *
 * A file system isn't told by one file, for that is its owner's: it counts as hanging when three
 * files of it hang that belong to two owners at least; for one owner's files alone when three of
 * his do. One that was only slow says nothing of others.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define HUNG_FILES_MAX 64

/* Of a job that reads a file: whether it has returned. */
struct hung_run;

struct hung_file {
	uint64_t device, inode;
	uint64_t whose; /* as a job's */
	/* Tells where its debug file is looked for: what was slow, or hung, there says nothing of
	 * the same file where others look elsewhere. 0: the file itself was. */
	uint64_t where;
};

/* Begins with zeroes; the oldest makes room. */
struct hung {
	struct {
		struct hung_file file;
		uint64_t until_ns; /* 0: none */
		bool is_slow;	   /* it computed */
		bool is_alone;	   /* it may not be its own file system that hangs */
		struct hung_run *run;
	} each[HUNG_FILES_MAX];
	unsigned next;
};

/* NULL: no memory; then it isn't known when the job has returned. */
struct hung_run *hung_run_new(void);
/* The job has returned. On any thread; of NULL: nothing. */
void hung_run_end(struct hung_run *run);

/* Its job hangs. `alone`: perhaps in another file than its own. */
void hung_add(struct hung *hung, const struct hung_file *file, struct hung_run *run, bool alone);
/* Its job computes for too long. */
void hung_add_slow(struct hung *hung, const struct hung_file *file);

enum hung_verdict { HUNG_NOT, HUNG_SLOW, HUNG_HANGS };
enum hung_verdict hung_has(struct hung *hung, const struct hung_file *file);

void hung_done(struct hung *hung);
