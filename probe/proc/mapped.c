// SPDX-License-Identifier: GPL-2.0-only
#include "proc/mapped.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/syscall.h>

#include "base/cleanup.h"
#include "base/file.h"

#define FIND_FLAGS (O_PATH | O_CLOEXEC)

static void link_of(const struct mapped *mapped, char path[96])
{
	snprintf(path, 96, "/proc/%d/map_files/%llx-%llx", (int)mapped->pid,
		 (unsigned long long)mapped->start, (unsigned long long)mapped->end);
}

/* Looked at before it is opened, for opening a device does things. */
static int open_regular(int found, struct stat *stat)
{
	if (fstat(found, stat) < 0)
		return -errno;
	return S_ISREG(stat->st_mode) ? file_open_found(found) : -ENOEXEC;
}

int mapped_open_path(int root_fd, const char *path, struct stat *stat)
{
	struct open_how how = {.flags = FIND_FLAGS,
			       .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
	_cleanup_close_ int found = (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));

	return found < 0 ? -errno : open_regular(found, stat);
}

int mapped_open(const struct mapped *mapped, struct stat *stat)
{
	char path[96];

	link_of(mapped, path);
	_cleanup_close_ int found = open(path, FIND_FLAGS);
	if (found < 0 && errno == EPERM && mapped->root_fd >= 0)
		return mapped_open_path(mapped->root_fd, mapped->path, stat);
	return found < 0 ? -errno : open_regular(found, stat);
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
