// SPDX-License-Identifier: GPL-2.0-or-later
#include "upload/spool/spool_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/cleanup.h"

#define DIGITS 20

int spool_compare(const struct spool_key *a, const struct spool_key *b)
{
	if (a->until_ns != b->until_ns)
		return a->until_ns < b->until_ns ? -1 : 1;
	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	return 0;
}

void spool_name_make(const struct spool_key *key, const char *suffix, char name[SPOOL_NAME_MAX])
{
	snprintf(name, SPOOL_NAME_MAX, "%s%0*" PRId64 "-%0*" PRIu64 "%s",
		 strcmp(suffix, SPOOL_WRITTEN) == 0 ? "." : "", DIGITS, key->until_ns, DIGITS,
		 key->number, suffix);
}

static bool read_digits(const char *text, uint64_t *number)
{
	*number = 0;
	for (int i = 0; i < DIGITS; i++) {
		if (text[i] < '0' || text[i] > '9' ||
		    __builtin_mul_overflow(*number, (uint64_t)10, number) ||
		    __builtin_add_overflow(*number, (uint64_t)(text[i] - '0'), number))
			return false;
	}
	return true;
}

bool spool_name_read(const char *name, const char *suffix, struct spool_key *key)
{
	uint64_t until_ns;

	if (strcmp(suffix, SPOOL_WRITTEN) == 0 && *name++ != '.')
		return false;
	if (strlen(name) != 2 * DIGITS + 1 + strlen(suffix) || !read_digits(name, &until_ns) ||
	    name[DIGITS] != '-' || !read_digits(name + DIGITS + 1, &key->number) ||
	    until_ns > INT64_MAX)
		return false;
	key->until_ns = (int64_t)until_ns;
	return strcmp(name + 2 * DIGITS + 1, suffix) == 0;
}

/* ---- the folder ---- */

/* Makes the folder, and its parent, if they are missing. */
static int make_folder(const char *folder)
{
	char parent[4096];

	if (mkdir(folder, 0700) == 0 || errno == EEXIST)
		return 0;
	const char *slash = strrchr(folder, '/');
	if (errno != ENOENT || !slash || slash == folder)
		return -errno;
	if (snprintf(parent, sizeof(parent), "%.*s", (int)(slash - folder), folder) >=
	    (int)sizeof(parent))
		return -ENAMETOOLONG;
	if (mkdir(parent, 0700) < 0 && errno != EEXIST)
		return -errno;
	return mkdir(folder, 0700) < 0 && errno != EEXIST ? -errno : 0;
}

int spool_open(const char *folder)
{
	_cleanup_close_ int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat stat;

	if (fd < 0 || fstat(fd, &stat) < 0)
		return -errno;
	if (stat.st_uid != geteuid() || stat.st_mode & (S_IWGRP | S_IWOTH))
		return -EPERM;
	return TAKE_FD(fd);
}

int spool_open_or_make(const char *folder)
{
	int fd = spool_open(folder);

	if (fd != -ENOENT)
		return fd;
	int r = make_folder(folder);
	return r < 0 ? r : spool_open(folder);
}

int spool_claim(const char *folder, bool make)
{
	_cleanup_close_ int fd = make ? spool_open_or_make(folder) : spool_open(folder);

	if (fd < 0)
		return fd;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
		return -EBUSY;
	return TAKE_FD(fd);
}

int spool_move(int dir_fd, const char *from, const char *to)
{
	int r = renameat2(dir_fd, from, dir_fd, to, RENAME_NOREPLACE);

	/* Not every file system has RENAME_NOREPLACE. A plain rename will do: nobody else may write
	 * to the folder. */
	if (r < 0 && errno == EINVAL)
		r = renameat(dir_fd, from, dir_fd, to);
	return r < 0 ? -errno : 0;
}

int spool_drop(int dir_fd, const char *name)
{
	return unlinkat(dir_fd, name, 0) < 0 && errno != ENOENT ? -errno : 0;
}
