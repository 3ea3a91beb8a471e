// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/files/latest.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "output/files/filename.h"

#define LATEST "latest.svg"

/* Whether a name is newer than another of the same second: the higher number (-2, -10) is newer. */
static bool is_newer(const char *name, const char *than)
{
	size_t len = strlen(name), other = strlen(than);

	return len == other ? strcmp(name, than) > 0 : len > other;
}

/* Finds the newest picture of a date's folder that is not before *newest, which becomes its moment.
 * Takes over `fd`. */
static bool newest_of_day(int fd, int pid, char name[NAME_MAX + 1], int64_t *newest)
{
	DIR *dir = fdopendir(fd); /* closes fd with it */
	bool found = false;

	if (!dir) {
		close(fd);
		return false;
	}
	for (struct dirent *entry; (entry = readdir(dir));) {
		int64_t moment;

		if (!filename_profile(entry->d_name, pid, ".svg", &moment) || moment < *newest ||
		    filename_is_before(entry->d_name) ||
		    (found && moment == *newest && !is_newer(entry->d_name, name)))
			continue;
		*newest = moment;
		snprintf(name, NAME_MAX + 1, "%s", entry->d_name);
		found = true;
	}
	closedir(dir);
	return found;
}

/* Makes "<date>/<file>" of the newest picture below a probe's or a process's folder. */
static bool newest_below(DIR *dir, int pid, char *target, size_t bytes)
{
	int64_t newest = INT64_MIN, day;
	bool found = false;

	rewinddir(dir);
	for (struct dirent *entry; (entry = readdir(dir));) {
		char name[NAME_MAX + 1];
		int fd;

		if (!filename_date(entry->d_name, &day) || (day + 1) * DAY_S < newest)
			continue;
		fd = openat(dirfd(dir), entry->d_name,
			    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0 || !newest_of_day(fd, pid, name, &newest))
			continue;
		snprintf(target, bytes, "%.10s/%s", entry->d_name, name);
		found = true;
	}
	return found;
}

int latest_mend(DIR *dir, int root_fd, int pid)
{
	int fd = dirfd(dir);
	char target[NAME_MAX + 32] = "";
	struct stat stat;
	int64_t day, moment;

	ssize_t n = readlinkat(fd, LATEST, target, sizeof(target) - 1);
	if (n < 11 || target[10] != '/' || fstatat(fd, target, &stat, AT_SYMLINK_NOFOLLOW) == 0 ||
	    errno != ENOENT)
		return 0;
	target[10] = '\0';
	if (!filename_date(target, &day) || !filename_profile(target + 11, pid, ".svg", &moment) ||
	    fstatat(fd, LATEST, &stat, AT_SYMLINK_NOFOLLOW) < 0 || stat.st_uid != geteuid())
		return 0;
	if (newest_below(dir, pid, target, sizeof(target)))
		return file_link_new(fd, root_fd, target, LATEST);
	return unlinkat(fd, LATEST, 0) < 0 ? -errno : 0;
}
