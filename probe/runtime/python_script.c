// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/python_script.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "runtime/python_line.h"

#define LINE_BYTES 16384

#ifndef RESOLVE_CACHED
#define RESOLVE_CACHED 0x20
#endif

static ssize_t read_line(pid_t pid, char *line, size_t bytes)
{
	char path[64];
	ssize_t sum = 0, got;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	while ((got = read(fd, line + sum, bytes - (size_t)sum)) > 0)
		sum += got;
	return sum;
}

/* Returns the target of a link of /proc, as the process names it: relative to the process's root
 * folder. NULL: not known. */
static const char *read_link(pid_t pid, const char *link, char to[PATH_MAX])
{
	char path[64], root[PATH_MAX];
	ssize_t len = readlink(link, to, PATH_MAX - 1);

	if (len <= 0 || to[0] != '/')
		return NULL;
	to[len] = '\0';
	snprintf(path, sizeof(path), "/proc/%d/root", (int)pid);
	ssize_t above = readlink(path, root, sizeof(root));
	if (above > 1 && above <= len && !memcmp(root, to, (size_t)above)) {
		if (!to[above])
			return "/";
		if (to[above] == '/')
			return to + above;
	}
	return to;
}

/* Opens a path as the process would, as O_PATH. Returns a descriptor or a negative errno: -EAGAIN
 * if the kernel's cache doesn't have the path. */
static int find_path(pid_t pid, const char *path)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS | RESOLVE_CACHED,
	};
	char root[64];

	snprintf(root, sizeof(root), "/proc/%d/root", (int)pid);
	_cleanup_close_ int fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int found = fd < 0 ? -1 : (int)syscall(SYS_openat2, fd, path, &how, sizeof(how));
	return found < 0 ? -errno : found;
}

/* Returns whether `fd` is a folder, without asking the file system. */
static bool is_folder(int fd)
{
	struct statx stat;

	return statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &stat) == 0 &&
	       S_ISDIR(stat.stx_mode);
}

/* Fills in the folder with links resolved, and as it was called. */
static int find_folders(pid_t pid, const char *path, struct pypath_script *script)
{
	char link[64], to[PATH_MAX];
	const char *found = NULL;
	bool folder = false;

	_cleanup_close_ int fd = find_path(pid, path);
	if (fd >= 0) {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		found = read_link(pid, link, to);
		folder = found && is_folder(fd);
	}
	script->dir = folder ? strdup(found) : python_line_dir(found ? found : path);
	script->called = folder ? strdup(path) : strndup(path, (size_t)(strrchr(path, '/') - path));
	return fd == -EAGAIN ? fd : 0;
}

int python_script(pid_t pid, struct pypath_script *script)
{
	_cleanup_free_ char *line = malloc(LINE_BYTES);
	char link[64], cwd[PATH_MAX];

	*script = (struct pypath_script){0};
	ssize_t bytes = line ? read_line(pid, line, LINE_BYTES) : 0;
	if (bytes <= 0)
		return 0;
	snprintf(link, sizeof(link), "/proc/%d/cwd", (int)pid);
	_cleanup_free_ char *path =
		python_line_script(line, (size_t)bytes, read_link(pid, link, cwd));
	return path ? find_folders(pid, path, script) : 0;
}

void python_script_done(struct pypath_script *script)
{
	free(script->dir);
	free(script->called);
	*script = (struct pypath_script){0};
}
