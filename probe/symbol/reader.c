// SPDX-License-Identifier: GPL-2.0-only
#include "symbol/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/closer.h"
#include "proc/mapped.h"
#include "symbol/held.h"

#define NAMES_MAX (16u * 1024 * 1024)

static bool is_as_it_was(const struct stat *now, const struct stat *before)
{
	return now->st_dev == before->st_dev && now->st_ino == before->st_ino &&
	       now->st_size == before->st_size && now->st_mtim.tv_sec == before->st_mtim.tv_sec &&
	       now->st_mtim.tv_nsec == before->st_mtim.tv_nsec;
}

/* The process's root, or -1. Ours, where it has the same. */
static int open_root(const struct reading *reading)
{
	char path[64] = "/";
	struct stat stat;

	if (reading->root_fd >= 0)
		return fcntl(reading->root_fd, F_DUPFD_CLOEXEC, 0);
	if (reading->other_root)
		snprintf(path, sizeof(path), "/proc/%d/root", (int)reading->place.pid);
	_cleanup_close_ int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || !reading->other_root)
		return TAKE_FD(fd);
	if (fstat(fd, &stat) < 0 || stat.st_dev != reading->root_device ||
	    stat.st_ino != reading->root_inode)
		return -1; /* another process has that pid now */
	return TAKE_FD(fd);
}

static bool is_no_descriptor(int error)
{
	return error == -EMFILE || error == -ENFILE;
}

/* Through the mapping, or by its path: whichever leads to the very file. */
static int open_again(const struct reading *reading, int root_fd)
{
	struct mapped mapped = {reading->place.pid, reading->place.start, reading->place.end, -1,
				reading->path};
	struct stat stat;
	int error = -ESRCH;

	for (int way = 0; way < 2; way++) {
		if (way == 0 ? !mapped.pid : root_fd < 0 || reading->path[0] != '/')
			continue;
		_cleanup_close_ int fd = way == 0 ? mapped_open(&mapped, &stat)
						  : mapped_open_path(root_fd, reading->path, &stat);
		if (fd >= 0 && is_as_it_was(&stat, reading->stat))
			return TAKE_FD(fd);
		if (is_no_descriptor(fd))
			return fd;
		if (fd >= 0)
			error = -ESTALE;
	}
	return error;
}

static int open_debug(struct reading *reading, int fd, int root_fd)
{
	struct debug_search search = {
		.root_fd = reading->other_root ? root_fd : -1,
		.path = reading->path,
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
	if (reading->other_root && root_fd < 0)
		reading->debug.searched = false; /* not where it would be */
	return found;
}

static int resolve(struct reading *reading, int fd, int root_fd)
{
	struct stat stat;

	if (fstat(fd, &stat) < 0)
		return -errno;
	if (!is_as_it_was(&stat, reading->stat))
		return -ESTALE;
	_cleanup_close_ int debug_fd = open_debug(reading, fd, root_fd);
	if (is_no_descriptor(debug_fd))
		return debug_fd;
	return native_resolve(fd, debug_fd, reading->functions, reading->count, &reading->names);
}

static void run(struct job *job)
{
	struct reading *reading = (struct reading *)job;
	_cleanup_close_ int root_fd = open_root(reading);

	if (reading->fd < 0) {
		_cleanup_close_ int fd = open_again(reading, root_fd);
		reading->error = fd < 0 ? fd : resolve(reading, fd, root_fd);
		if (fd >= 0 && held_take())
			reading->fd = TAKE_FD(fd);
	} else {
		reading->error = resolve(reading, reading->fd, root_fd);
	}
}

static void done(struct job *job, bool finished)
{
	struct reading *reading = (struct reading *)job;

	reading->done(reading, finished);
}

static void free_reading(struct job *job)
{
	struct reading *reading = (struct reading *)job;

	if (reading->fd >= 0) {
		close_later(job->worker, &reading->fd, 1);
		held_give();
	}
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
