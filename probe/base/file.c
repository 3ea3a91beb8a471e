// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

#define FOLDER_MODE 0750
#define FILE_MODE   0640
#define TRIES_MAX   1000

/* For temporary names, where there are no unnamed files. */
#define SCRATCH_FOLDER ".stackprobe-tmp"

int file_read_fd(int fd, struct buf *out)
{
	for (;;) {
		size_t room = out->max - out->len < 65536 ? out->max - out->len : 65536;
		char spare = 0;
		char *at = room ? buf_reserve(out, room) : &spare;

		if (!at)
			return out->error;
		ssize_t n = read(fd, at, room ? room : 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return 0;
		if (!room)
			return -ENOSPC;
		out->len += (size_t)n;
	}
}

int file_read_up_to(int fd, char *to, size_t bytes, size_t *len)
{
	for (*len = 0; *len < bytes;) {
		ssize_t n = read(fd, to + *len, bytes - *len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0;
		*len += (size_t)n;
	}
	return 0;
}

int file_read(int dir_fd, const char *path, struct buf *out)
{
	_cleanup_close_ int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : file_read_fd(fd, out);
}

int file_read_own(const char *folder, const char *name, struct buf *out)
{
	_cleanup_close_ int dir_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat stat;

	if (dir_fd < 0)
		return -errno;
	_cleanup_close_ int fd =
		openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &stat) < 0)
		return -errno;
	if (!S_ISREG(stat.st_mode) || stat.st_uid != geteuid() || stat.st_mode & 022)
		return -EPERM;
	return file_read_fd(fd, out);
}

/* The group whose folders may have the setgid bit: the root folder's, if that has the bit. */
struct trusted {
	bool has_gid;
	gid_t gid;
};

static int trust_root(int root_fd, struct trusted *trusted)
{
	struct stat stat;

	if (fstat(root_fd, &stat) < 0)
		return -errno;
	*trusted = (struct trusted){stat.st_mode & S_ISGID, stat.st_gid};
	return 0;
}

/* Returns 0 if nobody but our user and root may write to the folder, else -EACCES. */
static int check_own(int fd, const struct trusted *trusted)
{
	struct stat stat;

	if (fstat(fd, &stat) < 0)
		return -errno;
	if ((stat.st_uid != geteuid() && stat.st_uid != 0) || stat.st_mode & (S_IWGRP | S_IWOTH))
		return -EACCES;
	if (stat.st_mode & S_ISGID && !(trusted->has_gid && trusted->gid == stat.st_gid))
		return -EACCES;
	return 0;
}

/* Sets a new folder's mode, whatever the umask. Keeps the setgid bit, which the folder has from the
 * root folder. */
static int set_mode(int fd)
{
	struct stat stat;

	if (fstat(fd, &stat) < 0 || fchmod(fd, FOLDER_MODE | (stat.st_mode & S_ISGID)) < 0)
		return -errno;
	return 0;
}

/* Opens the folder `name`, with `make` after making it. *made: the folder is new. */
static int open_step(int dir_fd, const char *name, bool make, bool *made)
{
	struct open_how how = {
		.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};

	*made = make && mkdirat(dir_fd, name, FOLDER_MODE) == 0;
	if (make && !*made && errno != EEXIST)
		return -errno;
	_cleanup_close_ int fd = (int)syscall(SYS_openat2, dir_fd, name, &how, sizeof(how));
	if (fd < 0)
		return -errno;
	int r = *made ? set_mode(fd) : 0;
	return r < 0 ? r : TAKE_FD(fd);
}

static int walk_path(int root_fd, const char *path, bool make, struct dir_steps *steps)
{
	_cleanup_close_ int at = fcntl(root_fd, F_DUPFD_CLOEXEC, 3);
	const char *begin = path;
	struct trusted trusted = {0};

	*steps = (struct dir_steps){.found = strlen(path)};
	if (at < 0)
		return -errno;
	int r = trust_root(root_fd, &trusted);
	while (r == 0 && *path) {
		char name[NAME_MAX + 1];
		size_t len = strcspn(path, "/");
		bool made = false;

		steps->tried = (size_t)(path - begin) + len;
		if (len >= sizeof(name))
			return -ENAMETOOLONG;
		if (len && !(len == 1 && path[0] == '.')) {
			memcpy(name, path, len);
			name[len] = '\0';
			int next = open_step(at, name, make, &made);
			if (made && steps->found > (size_t)(path - begin))
				steps->found = (size_t)(path - begin);
			if (next < 0)
				return next;
			close(at);
			at = next;
			r = check_own(at, &trusted);
		}
		path += len;
		path += *path == '/';
	}
	return r < 0 ? r : TAKE_FD(at);
}

int dir_open_in(int root_fd, const char *path)
{
	struct dir_steps steps;

	return walk_path(root_fd, path, true, &steps);
}

int dir_open_below(const char *root, const char *path, struct dir_steps *steps)
{
	_cleanup_close_ int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	*steps = (struct dir_steps){.found = strlen(path)};
	return fd < 0 ? -errno : walk_path(fd, path, true, steps);
}

int dir_find_below(const char *root, const char *path, struct dir_steps *steps)
{
	_cleanup_close_ int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	*steps = (struct dir_steps){.found = strlen(path)};
	return fd < 0 ? -errno : walk_path(fd, path, false, steps);
}

int file_write_all(int fd, const char *data, size_t bytes)
{
	while (bytes) {
		ssize_t n = write(fd, data, bytes);

		if (n < 0 && errno == EAGAIN)
			poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, -1);
		else if (n < 0 && errno != EINTR)
			return -errno;
		if (n < 0)
			continue;
		data += n;
		bytes -= (size_t)n;
	}
	return 0;
}

/* A file that has its content but not yet its name. */
struct draft {
	int fd;
	int scratch_fd;	    /* -1: the file is unnamed; else it lies here … */
	char temporary[64]; /* … under this name */
};

static void draft_done(struct draft *draft)
{
	if (draft->scratch_fd >= 0) {
		unlinkat(draft->scratch_fd, draft->temporary, 0); /* gone already if renamed */
		close(draft->scratch_fd);
	}
	if (draft->fd >= 0)
		close(draft->fd);
}

static unsigned drafts; /* temporary names that this process has given */

/* Makes a temporary file (or, with `target`, a link) in SCRATCH_FOLDER. Tries again if a former
 * process left a file of that name, or if scratch_clean() has removed the folder meanwhile. */
static int draft_open_scratch(struct draft *draft, int root_fd, const char *target)
{
	int r = -EEXIST;

	for (int i = 0; i < TRIES_MAX && (r == -EEXIST || r == -ENOENT); i++) {
		if (draft->scratch_fd >= 0)
			close(draft->scratch_fd);
		draft->scratch_fd = dir_open_in(root_fd, SCRATCH_FOLDER);
		if (draft->scratch_fd < 0)
			return draft->scratch_fd;
		snprintf(draft->temporary, sizeof(draft->temporary), "%d-%u", (int)getpid(),
			 __atomic_add_fetch(&drafts, 1, __ATOMIC_RELAXED));
		if (target)
			r = symlinkat(target, draft->scratch_fd, draft->temporary);
		else
			r = draft->fd = openat(draft->scratch_fd, draft->temporary,
					       O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
					       FILE_MODE);
		if (r < 0)
			r = -errno;
	}
	if (r < 0) { /* nothing of ours lies there */
		close(draft->scratch_fd);
		draft->scratch_fd = -1;
	}
	return r < 0 ? r : 0;
}

static int draft_open(struct draft *draft, int dir_fd, int root_fd)
{
	draft->fd = openat(dir_fd, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, FILE_MODE);
	return draft->fd >= 0 ? 0 : draft_open_scratch(draft, root_fd, NULL);
}

static int draft_name(const struct draft *draft, int dir_fd, const char *name)
{
	char link[64];
	int r;

	if (draft->scratch_fd >= 0) {
		r = renameat2(draft->scratch_fd, draft->temporary, dir_fd, name, RENAME_NOREPLACE);
	} else {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", draft->fd);
		r = linkat(AT_FDCWD, link, dir_fd, name, AT_SYMLINK_FOLLOW);
	}
	return r < 0 ? -errno : 0;
}

int file_write_new(int dir_fd, int root_fd, const char *stem, const char *extension,
		   const void *data, size_t bytes, char *name, size_t name_bytes)
{
	_cleanup_(draft_done) struct draft draft = {.fd = -1, .scratch_fd = -1};
	int r = draft_open(&draft, dir_fd, root_fd);

	if (r == 0)
		r = file_write_all(draft.fd, data, bytes);
	if (r == 0 && fchmod(draft.fd, FILE_MODE) < 0) /* whatever the umask */
		r = -errno;
	if (r < 0)
		return r;
	for (int i = 1; i <= TRIES_MAX; i++) {
		if (i == 1)
			snprintf(name, name_bytes, "%s%s", stem, extension);
		else
			snprintf(name, name_bytes, "%s-%d%s", stem, i, extension);
		r = draft_name(&draft, dir_fd, name);
		if (r != -EEXIST)
			return r;
	}
	return r;
}

static int replace_file(int dir_fd, const char *name, const void *data, size_t bytes)
{
	char temporary[256];

	snprintf(temporary, sizeof(temporary), ".%s.new", name);
	unlinkat(dir_fd, temporary, 0); /* left from a process before us */
	_cleanup_close_ int fd = openat(dir_fd, temporary,
					O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	int r = file_write_all(fd, data, bytes);
	if (r == 0 && renameat(dir_fd, temporary, dir_fd, name) < 0)
		r = -errno;
	if (r < 0)
		unlinkat(dir_fd, temporary, 0);
	return r;
}

int file_replace(const char *folder, const char *name, const void *data, size_t bytes)
{
	if (mkdir(folder, 0700) < 0 && errno != EEXIST)
		return -errno;
	_cleanup_close_ int dir_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dir_fd < 0 ? -errno : replace_file(dir_fd, name, data, bytes);
}

int file_link_new(int dir_fd, int root_fd, const char *target, const char *name)
{
	_cleanup_(draft_done) struct draft draft = {.fd = -1, .scratch_fd = -1};
	int r = draft_open_scratch(&draft, root_fd, target);

	if (r == 0 && renameat(draft.scratch_fd, draft.temporary, dir_fd, name) < 0)
		r = -errno;
	return r;
}

void scratch_clean(int root_fd)
{
	_cleanup_close_ int scratch_fd =
		openat(root_fd, SCRATCH_FOLDER, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	int fd = scratch_fd < 0 ? -1 : fcntl(scratch_fd, F_DUPFD_CLOEXEC, 3);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return;
	}
	for (struct dirent *entry; (entry = readdir(dir));) {
		int pid, length = 0;
		unsigned number;

		if (sscanf(entry->d_name, "%d-%u%n", &pid, &number, &length) != 2 ||
		    entry->d_name[length] || pid <= 0)
			continue;
		/* Our own pid may have been that of a daemon before us. */
		if (pid == getpid() ? drafts > 0 : kill(pid, 0) == 0 || errno != ESRCH)
			continue;
		unlinkat(scratch_fd, entry->d_name, 0);
	}
	closedir(dir);
	unlinkat(root_fd, SCRATCH_FOLDER, AT_REMOVEDIR); /* if it is empty now */
}
