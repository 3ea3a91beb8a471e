// SPDX-License-Identifier: GPL-2.0-or-later
#include "file/open_request.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "proc/mapped.h"

void open_request_identify(struct open_request_id *id, const struct stat *stat)
{
	*id = (struct open_request_id){
		.device = stat->st_dev,
		.inode = stat->st_ino,
		.bytes = (uint64_t)stat->st_size,
		.modified_s = stat->st_mtim.tv_sec,
		.modified_ns = stat->st_mtim.tv_nsec,
		.changed_s = stat->st_ctim.tv_sec,
		.changed_ns = stat->st_ctim.tv_nsec,
	};
}

struct hung_file open_request_hung_file(const struct open_request *opening)
{
	return (struct hung_file){opening->stat.st_dev, opening->stat.st_ino, opening->whose, 0};
}

void open_request_done(struct open_request *opening)
{
	held_fd_unref(TAKE_PTR(opening->held));
	symbol_root_unref(TAKE_PTR(opening->root));
}

static bool is_as_it_was(const struct stat *now, const struct stat *before)
{
	return now->st_dev == before->st_dev && now->st_ino == before->st_ino &&
	       now->st_size == before->st_size && now->st_mtim.tv_sec == before->st_mtim.tv_sec &&
	       now->st_mtim.tv_nsec == before->st_mtim.tv_nsec;
}

struct debug_process open_request_process(const struct open_request *opening)
{
	return (struct debug_process){
		.pid = opening->place.pid,
		.start = opening->place.start,
		.end = opening->place.end,
		.device = opening->stat.st_dev,
		.inode = opening->stat.st_ino,
	};
}

int open_request_check(const struct open_request *opening, int fd)
{
	struct stat stat;

	if (fstat(fd, &stat) < 0)
		return -errno;
	return is_as_it_was(&stat, &opening->stat) ? 0 : -ESTALE;
}

int open_request_open_root(const struct open_request *opening)
{
	const struct symbol_root *root = opening->root;
	char path[64] = "/";
	struct stat stat;

	if (root && root->fd >= 0)
		return fcntl(root->fd, F_DUPFD_CLOEXEC, 0);
	if (root)
		snprintf(path, sizeof(path), "/proc/%d/root", (int)opening->place.pid);
	_cleanup_close_ int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || !root)
		return TAKE_FD(fd);
	if (fstat(fd, &stat) < 0 || stat.st_dev != root->device || stat.st_ino != root->inode)
		return -1; /* another process has that pid now */
	return TAKE_FD(fd);
}

/* Opens the file through the mapping, or by its path if the mapping doesn't lead to the very file.
 */
static int open_again(const struct open_request *opening, int root_fd)
{
	struct mapped mapped = {.pid = opening->place.pid,
				.start = opening->place.start,
				.end = opening->place.end,
				.root_fd = -1};
	struct stat stat;
	int error = -ESRCH;

	for (int way = 0; way < 2; way++) {
		if (way == 0 ? !mapped.pid : root_fd < 0 || opening->path[0] != '/')
			continue;
		_cleanup_close_ int fd = way == 0 ? mapped_open(&mapped, &stat)
						  : mapped_open_path(root_fd, opening->path, &stat);
		if (fd >= 0 && is_as_it_was(&stat, &opening->stat))
			return TAKE_FD(fd);
		if (fd == -EMFILE || fd == -ENFILE)
			return fd;
		if (fd >= 0)
			error = -ESTALE;
	}
	return error;
}

int open_request_open(struct open_request *opening, int root_fd, int *own)
{
	if (opening->held) {
		int r = open_request_check(opening, opening->held->fd);
		return r < 0 ? r : opening->held->fd;
	}
	_cleanup_close_ int fd = open_again(opening, root_fd);
	if (fd < 0)
		return fd;
	if (fd_budget_take()) {
		opening->held = held_fd_new(&fd, opening->worker, opening->whose);
		if (opening->held)
			return opening->held->fd;
		fd_budget_give();
	}
	*own = TAKE_FD(fd);
	return *own;
}
