// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/record/record_file.h"

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
#include "command/record/inherited.h"

#define TRIES_MAX 100

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Makes a hidden new file in the folder. Returns its descriptor, and its name in `name`. */
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
	int r = file->dir_fd < 0 ? -errno : try_folder(file->dir_fd);
	if (r < 0)
		record_file_close(file);
	return r;
}

/* Whether only root and we can make entries in the folder of the path. */
static bool is_ours_alone(const char *path)
{
	size_t len = (size_t)(base_name(path) - path);
	char dir[sizeof(((struct record_file *)NULL)->path)];
	struct stat stat_of;

	snprintf(dir, sizeof(dir), "%.*s", (int)len, len ? path : "");
	return stat(len ? dir : ".", &stat_of) == 0 && !(stat_of.st_mode & (S_IWGRP | S_IWOTH)) &&
	       (stat_of.st_uid == geteuid() || stat_of.st_uid == 0);
}

/* Opens what isn't a regular file; `entry` and `there` are its lstat() and stat(). Returns the
 * descriptor, or a negative errno: -EISDIR for a folder, -ESTALE if the path was changed since. */
static int open_in_place(const char *path, const struct stat *entry, const struct stat *there,
			 bool named)
{
	int flags = O_WRONLY | O_CLOEXEC | O_NOCTTY;
	struct stat opened;

	if (!named)
		return -EEXIST;
	if (!S_ISLNK(entry->st_mode))
		flags |= O_NOFOLLOW;
	else if (!is_ours_alone(path))
		return -ELOOP;
	_cleanup_close_ int fd = open(path, flags);
	if (fd < 0 || fstat(fd, &opened) < 0)
		return -errno;
	if (opened.st_dev != there->st_dev || opened.st_ino != there->st_ino)
		return -ESTALE;
	return TAKE_FD(fd);
}

static int open_standard(void)
{
	int fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);

	return fd < 0 ? -errno : fd;
}

int record_file_open(struct record_file *file, const char *path, bool named)
{
	struct stat there, entry;
	int r;

	*file = (struct record_file){.dir_fd = -1, .fd = -1};
	if (strlen(path) >= sizeof(file->path) || strlen(base_name(path)) > NAME_MAX)
		return -ENAMETOOLONG;
	snprintf(file->path, sizeof(file->path), "%s", path);
	if (strcmp(path, "-") == 0)
		r = open_standard();
	else if (stat(path, &there) == 0 && !S_ISREG(there.st_mode) && lstat(path, &entry) == 0)
		r = open_in_place(path, &entry, &there, named);
	else
		return open_folder(file);
	if (r < 0)
		return r;
	file->fd = r;
	return 0;
}

void record_file_dont_wait(struct record_file *file)
{
	struct stat is;
	char path[64];

	if (file->fd < 0 || fstat(file->fd, &is) < 0 ||
	    !(S_ISFIFO(is.st_mode) || S_ISCHR(is.st_mode)))
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file->fd);
	int fd = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return;
	close(file->fd);
	file->fd = fd;
}

void record_file_close(struct record_file *file)
{
	if (file->fd >= 0)
		close(TAKE_FD(file->fd));
	if (file->dir_fd >= 0)
		close(TAKE_FD(file->dir_fd));
}

/* Makes the regular file with what is in it. Returns its descriptor, or a negative errno. */
static int make_file(const struct record_file *file, const void *data, size_t bytes)
{
	char temporary[64];
	_cleanup_close_ int fd = make_temporary(file->dir_fd, temporary, sizeof(temporary));

	if (fd < 0)
		return fd;
	int r = file_write_all(fd, data, bytes);
	if (r == 0 && fchmod(fd, 0666 & ~inherited_umask()) < 0)
		r = -errno;
	if (r == 0 && renameat(file->dir_fd, temporary, file->dir_fd, base_name(file->path)) < 0)
		r = -errno;
	if (r == 0)
		return TAKE_FD(fd);
	unlinkat(file->dir_fd, temporary, 0);
	return r;
}

int record_file_write(const struct record_file *file, const void *data, size_t bytes)
{
	if (file->fd >= 0)
		return file_write_all(file->fd, data, bytes);
	_cleanup_close_ int fd = make_file(file, data, bytes);
	return fd < 0 ? fd : 0;
}

int record_file_append(struct record_file *file, const void *data, size_t bytes)
{
	if (file->fd >= 0)
		return file_write_all(file->fd, data, bytes);
	int fd = make_file(file, data, bytes);
	if (fd < 0)
		return fd;
	file->fd = fd;
	return 0;
}
