// SPDX-License-Identifier: GPL-2.0-only
#include "command/record_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "command/inherited.h"

#define TRIES_MAX 100

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* A new file in the folder that nobody looks for. Its fd, and its name in `name`. */
static int make_temporary(int dir_fd, char *name, size_t bytes)
{
	int fd = -1;

	for (int i = 0; fd < 0 && i < TRIES_MAX; i++) {
		snprintf(name, bytes, ".stackprobe-%d-%d", (int)getpid(), i);
		fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
			    0600);
		if (fd < 0 && errno != EEXIST)
			break;
	}
	return fd < 0 ? -errno : fd;
}

static int try_folder(int dir_fd)
{
	char name[64];
	int fd = make_temporary(dir_fd, name, sizeof(name));

	if (fd < 0)
		return fd;
	close(fd);
	return unlinkat(dir_fd, name, 0) < 0 ? -errno : 0;
}

static int open_folder(struct record_file *file)
{
	size_t len = (size_t)(base_name(file->path) - file->path);
	char dir[sizeof(file->path)];

	snprintf(dir, sizeof(dir), "%.*s", (int)len, len ? file->path : "");
	file->dir_fd = open(len ? dir : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return file->dir_fd < 0 ? -errno : try_folder(file->dir_fd);
}

int record_file_open(struct record_file *file, const char *path)
{
	struct stat there;
	int r = 0;

	*file = (struct record_file){.dir_fd = -1, .fd = -1};
	if (strlen(path) >= sizeof(file->path) || strlen(base_name(path)) > NAME_MAX)
		return -ENAMETOOLONG;
	snprintf(file->path, sizeof(file->path), "%s", path);
	bool exists = strcmp(path, "-") != 0 && stat(path, &there) == 0;
	if (strcmp(path, "-") == 0)
		file->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	else if (exists && !S_ISREG(there.st_mode)) /* a folder is -EISDIR */
		file->fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	else
		r = open_folder(file);
	if (r == 0 && file->fd < 0 && file->dir_fd < 0)
		r = -errno;
	if (r < 0)
		record_file_close(file);
	return r;
}

void record_file_close(struct record_file *file)
{
	if (file->fd >= 0)
		close(TAKE_FD(file->fd));
	if (file->dir_fd >= 0)
		close(TAKE_FD(file->dir_fd));
}

int record_file_write(const struct record_file *file, const void *data, size_t bytes)
{
	char temporary[64];

	if (file->fd >= 0)
		return file_write_all(file->fd, data, bytes);
	_cleanup_close_ int fd = make_temporary(file->dir_fd, temporary, sizeof(temporary));
	if (fd < 0)
		return fd;
	int r = file_write_all(fd, data, bytes);
	if (r == 0 && fchmod(fd, 0666 & ~inherited_umask()) < 0)
		r = -errno;
	if (r == 0 && renameat(file->dir_fd, temporary, file->dir_fd, base_name(file->path)) < 0)
		r = -errno;
	if (r < 0)
		unlinkat(file->dir_fd, temporary, 0);
	return r;
}
