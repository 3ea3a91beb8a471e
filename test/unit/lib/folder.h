/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A folder of a test's own, removed with all that is in it. */
#pragma once

#include "unit/lib/unit.h"

#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>

struct folder {
	char path[64];
	int fd;
};

static inline void folder_make(struct folder *folder)
{
	strcpy(folder->path, "/tmp/stackprobe-unit-XXXXXX");
	assert_non_null(mkdtemp(folder->path));
	folder->fd = open(folder->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(folder->fd >= 0);
}

static inline int folder_remove_entry(const char *path, const struct stat *stat, int flag,
				      struct FTW *ftw)
{
	(void)stat, (void)flag, (void)ftw;
	return remove(path);
}

static inline void folder_done(struct folder *folder)
{
	close(folder->fd);
	nftw(folder->path, folder_remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}
#define _cleanup_folder_ _cleanup_(folder_done)

/* Writes a file below the folder. */
static inline void folder_put(const struct folder *folder, const char *name, const void *data,
			      size_t bytes)
{
	_cleanup_close_ int fd = openat(folder->fd, name, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, bytes), bytes);
}

static inline bool folder_has(const struct folder *folder, const char *name)
{
	struct stat stat;

	return fstatat(folder->fd, name, &stat, AT_SYMLINK_NOFOLLOW) == 0;
}

static inline void folder_assert_content(const struct folder *folder, const char *name,
					 const char *expected)
{
	char content[256] = "";
	_cleanup_close_ int fd = openat(folder->fd, name, O_RDONLY);

	assert_true(fd >= 0);
	assert_int_equal(read(fd, content, sizeof(content) - 1), strlen(expected));
	assert_string_equal(content, expected);
}
