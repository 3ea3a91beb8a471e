/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes a profile's files, one after the other: one pair for all, or one for each process. Loop
 * thread only; the work is done in jobs.
 */
#pragma once

#include <stdint.h>

#include "bpf/shared/named.h"
#include "loop/worker.h"
#include "output/files/store.h"
#include "profile/profile.h"
#include "select/spec.h"

struct files_setup {
	struct worker *bulk;	/* renders */
	struct worker *foreign; /* writes, which can hang */
	struct store_roots roots;
	const char *host;
};

/* Why a profile's files could not be written. */
#define FILES_CAUSE_LIST(X)                                                                        \
	X(FILES_NO_SPACE, "no_space")                                                              \
	X(FILES_NOT_WRITABLE, "not_writable") /* read-only, or not ours to write to */             \
	/* something else is in its place, or a link on the way to it */                           \
	X(FILES_BAD_FOLDER, "bad_folder")                                                          \
	X(FILES_NO_DESCRIPTORS, "no_descriptors")                                                  \
	X(FILES_NO_MEMORY, "no_memory")                                                            \
	X(FILES_TIMEOUT, "timeout")                                                                \
	X(FILES_OTHER, "other")
enum files_cause { FILES_CAUSE_LIST(NAMED_VALUE) FILES_CAUSES };

/* Returns the cause's name in GET and /metrics. */
const char *files_cause_name(enum files_cause cause);

struct files_result {
	uint64_t written, failed; /* profiles; one that lost a file of two has failed */
	uint64_t causes[FILES_CAUSES];
	uint64_t unwritten;	       /* weight of failed profiles */
	char last[512];		       /* the last failure, a sentence; "": none */
	const struct params *params;   /* used for writing */
	size_t svg_found, flame_found; /* bytes of each folder's path that existed before */
};

/*
 * Writes the files; `before`: of what was before something, which their names say, and latest.svg
 * doesn't lead to. Calls done() on the loop's thread, and holds a reference to the profile until
 * then. Logs and counts failures. A profile without weight makes no file. Returns 0, or -ENOMEM:
 * done() won't be called.
 */
int files_write(const struct files_setup *setup, struct profile *profile,
		const struct params *params, bool before,
		void (*done)(void *arg, const struct files_result *result), void *arg);
