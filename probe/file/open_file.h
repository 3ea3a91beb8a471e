/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A target's open file with its open debug file. Use this in a job: reading them may hang. */
#pragma once

#include "elf/debugfile.h"
#include "file/open_request.h"

struct open_file {
	int fd;	      /* the file */
	int debug_fd; /* -1: there is none */
	int own_fd;   /* equals fd if the opening doesn't hold the file; else -1 */
};

/* Opens the file and its debug file; *found is what is known of the debug file, and is updated.
 * `debugging_dir` may be NULL. Returns 0 or an error of open_request_open(); also -EMFILE and
 * -ENFILE for the debug file. The caller ends *opened with open_file_done(). */
int open_file_open(struct open_file *opened, struct open_request *opening,
		   const char *debugging_dir, struct debug_found *found);
/* Does what open_file_open() does, but takes only the debug file that was found before, if that
 * file is unchanged: a search may take long. */
int open_file_open_known(struct open_file *opened, struct open_request *opening,
			 const char *debugging_dir, const struct debug_found *found);
/* Opens the file that the debug file, or the file, shares with others (debugfile_open_shared()).
 * The caller owns the descriptor. -ENOENT: there is none. */
int open_file_open_shared(const struct open_file *opened, const struct open_request *opening,
			  const char *debugging_dir);
void open_file_done(struct open_file *opened);
