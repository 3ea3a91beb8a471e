// SPDX-License-Identifier: GPL-2.0-only
#include "proc/mapped.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/syscall.h>

#include "base/cleanup.h"

#define OPEN_FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

static void link_of(const struct mapped *mapped, char path[96])
{
	snprintf(path, 96, "/proc/%d/map_files/%llx-%llx", (int)mapped->pid,
		 (unsigned long long)mapped->start, (unsigned long long)mapped->end);
}

static int check(int fd, struct stat *stat)
{
	if (fstat(fd, stat) < 0)
		return -errno;
	return S_ISREG(stat->st_mode) ? 0 : -ENOEXEC;
}

int mapped_open_path(int root_fd, const char *path, struct stat *stat)
{
	struct open_how how = {.flags = OPEN_FLAGS,
			       .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
	_cleanup_close_ int fd = (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));

	if (fd < 0)
		return -errno;
	int r = check(fd, stat);
	return r < 0 ? r : TAKE_FD(fd);
}

int mapped_open(const struct mapped *mapped, struct stat *stat)
{
	char path[96];

	link_of(mapped, path);
	_cleanup_close_ int fd = open(path, OPEN_FLAGS);
	if (fd < 0 && errno == EPERM && mapped->root_fd >= 0)
		return mapped_open_path(mapped->root_fd, mapped->path, stat);
	if (fd < 0)
		return -errno;
	int r = check(fd, stat);
	return r < 0 ? r : TAKE_FD(fd);
}

int mapped_stat(const struct mapped *mapped, struct stat *stat)
{
	char path[96];

	link_of(mapped, path);
	if (fstatat(AT_FDCWD, path, stat, 0) == 0)
		return S_ISREG(stat->st_mode) ? 0 : -ENOEXEC;
	if (errno != EPERM || mapped->root_fd < 0)
		return -errno;
	_cleanup_close_ int fd = mapped_open_path(mapped->root_fd, mapped->path, stat);
	return fd < 0 ? fd : 0;
}
