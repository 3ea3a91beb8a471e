// SPDX-License-Identifier: GPL-2.0-only
#include "symbol/reader.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"

#define NAMES_MAX (16u * 1024 * 1024)

static bool is_no_descriptor(int error)
{
	return error == -EMFILE || error == -ENFILE;
}

static int open_debug(struct reading *reading, int fd, int root_fd)
{
	bool other_root = reading->opening.root != NULL;
	struct debug_search search = {
		.root_fd = other_root ? root_fd : -1,
		.path = reading->opening.path,
		.debugging_dir = reading->debugging_dir,
	};

	if (reading->debug.searched) {
		if (!reading->debug.path)
			return -ENOENT;
		int found = debugfile_open_again(&search, &reading->debug);
		if (found >= 0 || is_no_descriptor(found))
			return found;
	}
	int found = debugfile_open(fd, &search, &reading->debug);
	if (other_root && root_fd < 0)
		reading->debug.searched = false; /* not where it would be */
	return found;
}

static int resolve(struct reading *reading)
{
	_cleanup_close_ int root_fd = opening_open_root(&reading->opening);
	_cleanup_close_ int own = -1;
	int fd = opening_open(&reading->opening, root_fd, &own);

	if (fd < 0)
		return fd;
	_cleanup_close_ int debug_fd = open_debug(reading, fd, root_fd);
	if (is_no_descriptor(debug_fd))
		return debug_fd;
	return native_resolve(fd, debug_fd, reading->functions, reading->count, &reading->names);
}

static void run(struct job *job)
{
	struct reading *reading = (struct reading *)job;

	reading->error = resolve(reading);
}

static void done(struct job *job, bool finished)
{
	struct reading *reading = (struct reading *)job;

	reading->done(reading, finished);
}

static void free_reading(struct job *job)
{
	struct reading *reading = (struct reading *)job;

	opening_done(&reading->opening);
	free(reading->debug.path);
	free(reading->functions);
	buf_done(&reading->names);
	reading->free(reading);
}

void reading_submit(struct reading *reading, struct worker *worker)
{
	reading->job = (struct job){.run = run, .done = done, .free = free_reading};
	reading->names = (struct buf)BUF_INIT(NAMES_MAX);
	worker_submit(worker, &reading->job);
}
