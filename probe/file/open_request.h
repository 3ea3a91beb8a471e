/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How a job opens a target's file: by the descriptor that is held, else through a process's
 * mapping, else by the path in that process's root. In each case the result has to be the very
 * file, unchanged.
 *
 * An opening is plain data that a job owns. The file may lie in a file system that hangs.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "elf/debugfile.h"
#include "elf/fd_budget.h"
#include "file/hung_fs.h"
#include "elf/root.h"

/* Where a process has a file mapped; the file can be opened there as long as the process lives. */
struct symbol_place {
	pid_t pid; /* 0: no process */
	uint64_t start, end;
};

/* The identity of a file's content, without padding. */
struct open_request_id {
	uint64_t device, inode, bytes;
	int64_t modified_s, modified_ns, changed_s, changed_ns;
};
void open_request_identify(struct open_request_id *id, const struct stat *stat);

struct open_request {
	struct held_fd *held; /* the open file, with a reference; NULL: not open */
	struct symbol_place place;
	struct stat stat;	  /* of the file, when it became known */
	const char *path;	  /* as the process sees the file; borrowed */
	struct symbol_root *root; /* of the process, with a reference; NULL: ours */
	struct worker *worker;	  /* closes the file */
	uint64_t whose;		  /* the user whose work reading and closing is, job_of() */
};

/* Returns the file as file/hung_fs.h has it. */
struct hung_file open_request_hung_file(const struct open_request *opening);

/* Drops the references. Any thread. */
void open_request_done(struct open_request *opening);

/* Returns a descriptor of the process's root (O_PATH), or of ours if the process has the same; the
 * caller owns it. -1: it can't be opened, or another process has the pid. */
int open_request_open_root(const struct open_request *opening);

/*
 * Returns a descriptor of the file. The opening holds it if there is a place (elf/fd_budget.h);
 * else it is also *own, which the caller closes. `root_fd` comes from open_request_open_root().
 * Negative errno: -ESRCH if the file can't be opened any more, as the process has gone; -ESTALE if
 * the file was changed or replaced; -EMFILE; -ENFILE; an errno of fstat().
 */
int open_request_open(struct open_request *opening, int root_fd, int *own);

/* Returns where a process has the file mapped, for debugfile_open(). */
struct debug_process open_request_process(const struct open_request *opening);

/* Returns 0 if `fd` is still the same, unchanged file; else -ESTALE, or an errno of fstat(). */
int open_request_check(const struct open_request *opening, int fd);
