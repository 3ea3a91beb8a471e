/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads functions from a target's file, on the foreign worker: opens the file anew where it isn't
 * held open, makes sure that it is the file it was, finds its debug file and resolves.
 *
 * The file may lie in a file system that hangs: the job owns all it touches.
 */
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include "base/worker.h"
#include "symbol/debugfile.h"
#include "symbol/native.h"

/* Where a process has a file mapped, in which it may be opened as long as that process lives. */
struct symbol_place {
	pid_t pid; /* 0: nowhere */
	uint64_t start, end;
};

struct reading {
	struct job job;

	/* the question */
	int fd; /* held open, with its place (symbol/held.h), or -1; the reading's own */
	struct symbol_place place;
	const struct stat *stat;   /* what it was like; this and the rest: not NULL, the owner's */
	const char *path;	   /* as the process sees it */
	const char *debugging_dir; /* or NULL */
	int root_fd;		   /* O_PATH of the process's root, or -1 */
	bool other_root;	   /* it isn't ours */
	dev_t root_device;	   /* of such a root */
	ino_t root_inode;
	struct debug_found debug;	   /* what is known of it; the reading's own */
	struct native_function *functions; /* `offset` is the question; the reading's own */
	size_t count;

	/* the answer, once finished; `fd` is held open if there is room */
	int error; /* -ESRCH: it can't be opened any more, its process has gone; -ESTALE: it was
		    * changed or replaced; or a negative errno */
	struct buf names;

	void (*done)(struct reading *reading, bool finished);
	void (*free)(struct reading *reading); /* frees the struct, after its own parts were */
};

/* Takes over the reading. */
void reading_submit(struct reading *reading, struct worker *worker);
