/* SPDX-License-Identifier: GPL-2.0-only */
/* A target's file and its debug file, open: in a job, for these may lie where reading hangs. */
#pragma once

#include "elf/debugfile.h"
#include "file/opening.h"

struct opened {
	int fd;
	int debug_fd; /* -1: there is none */
	int own_fd;   /* fd, where it isn't the opening's; -1 */
};

/* `found` is what is known of the debug file, and learns it; `debugging_dir` or NULL. Errors as
 * opening_open()'s; -EMFILE and -ENFILE of the debug file as well. */
int opened_open(struct opened *opened, struct opening *opening, const char *debugging_dir,
		struct debug_found *found);
/* The same with the debug file that was found before, if it is still the same: none is searched
 * for, which may take long. */
int opened_open_known(struct opened *opened, struct opening *opening, const char *debugging_dir,
		      const struct debug_found *found);
/* What its debug file, or it, shares with others (debugfile_open_shared()): the caller's. -ENOENT
 */
int opened_open_shared(const struct opened *opened, const struct opening *opening,
		       const char *debugging_dir);
void opened_done(struct opened *opened);
