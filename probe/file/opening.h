/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Opening a target's file in a job: as it is held, else through the mapping of a process or by its
 * path there; whichever way, it has to be the very file, as it was.
 *
 * An opening is plain data that a job owns. The file may lie in a file system that hangs.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "elf/debugfile.h"
#include "elf/held.h"
#include "file/hung.h"
#include "elf/root.h"

/* Where a process has a file mapped, in which it may be opened as long as that process lives. */
struct symbol_place {
	pid_t pid; /* 0: nowhere */
	uint64_t start, end;
};

/* What makes a file the same. All bytes count. */
struct opening_id {
	uint64_t device, inode, bytes;
	int64_t modified_s, modified_ns, changed_s, changed_ns;
};
void opening_identify(struct opening_id *id, const struct stat *stat);

struct opening {
	struct held *held; /* it is open already; NULL: it isn't. With a reference */
	struct symbol_place place;
	struct stat stat;	  /* what it was like */
	const char *path;	  /* as the process sees it; the owner's */
	struct symbol_root *root; /* of the process; NULL: ours. With a reference */
	struct worker *worker;	  /* that closes it */
	uint64_t whose;		  /* reading and closing it is, as a job's */
};

/* What file/hung.h has to know of the file. */
struct hung_file opening_hung_file(const struct opening *opening);

/* On any thread. */
void opening_done(struct opening *opening);

/* The process's root (O_PATH; ours, where it has the same), or -1. */
int opening_open_root(const struct opening *opening);

/*
 * The open file; it stays the opening's, or becomes *own: the caller closes that. `root_fd` as
 * opening_open_root() gave it. If there is a place (elf/held.h) it is held from now on.
 * -ESRCH: it can't be opened any more, its process has gone; -ESTALE: it was changed or replaced;
 * -EMFILE, -ENFILE, or the errno of looking at it.
 */
int opening_open(struct opening *opening, int root_fd, int *own);

/* Where a process has it mapped: for debugfile_open(). */
struct debug_process opening_process(const struct opening *opening);

/* 0: it is still as it was. -ESTALE, errno of looking at it. */
int opening_check(const struct opening *opening, int fd);
