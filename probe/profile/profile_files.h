/* SPDX-License-Identifier: GPL-2.0-only */
/* Writes a profile's files: one for all, or one for each process; one after the other. */
#pragma once

#include <stdint.h>

#include "loop/worker.h"
#include "output/files/store.h"
#include "profile/profile.h"
#include "select/spec.h"

struct files_setup {
	struct worker *bulk;	/* renders */
	struct worker *foreign; /* writes: that can hang */
	struct store_roots roots;
	const char *host;
};

/* Why a profile's files could not be written. */
enum files_cause {
	FILES_NO_SPACE,
	FILES_NOT_WRITABLE, /* read-only, or not ours to write to */
	FILES_BAD_FOLDER,   /* something else lies in its place, or a link on the way to it */
	FILES_NO_DESCRIPTORS,
	FILES_NO_MEMORY,
	FILES_TIMEOUT,
	FILES_OTHER,
	FILES_CAUSES
};

/* As GET and metrics show it. */
const char *files_cause_name(enum files_cause cause);

struct files_result {
	uint64_t written, failed; /* profiles; one of whose two files is lost has failed */
	uint64_t causes[FILES_CAUSES];
	uint64_t unwritten;	     /* weight of those that failed */
	char last[512];		     /* the last failure, a sentence; "": there was none */
	const struct params *params; /* that they were written with */
	size_t svg_found,
		flame_found; /* bytes of svg_dir's and flame_dir's path that weren't made */
};

/*
 * A profile without weight makes no file. done() is called on the loop's thread; a reference to the
 * profile is held until then. Failures are logged and counted. -ENOMEM: done() won't be called.
 */
int files_write(const struct files_setup *setup, struct profile *profile,
		const struct params *params,
		void (*done)(void *arg, const struct files_result *result), void *arg);
