// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/mapped.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/sysmacros.h>

#include "base/cleanup.h"
#include "proc/foreign.h"
#include "proc/proc.h"

static const struct foreign_rules anybodys;

static int find_link(const struct mapped *mapped)
{
	char path[96];

	snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", (int)mapped->pid,
		 (unsigned long long)mapped->start, (unsigned long long)mapped->end);
	int found = open(path, O_PATH | O_CLOEXEC);
	return found < 0 ? -errno : found;
}

/* Turns the errors of files that will never be opened into one. */
static int simplify_error(int r)
{
	return r == -EINVAL || r == -ENODEV ? -ENOEXEC : r;
}

static int open_path(int root_fd, const char *path, const struct foreign_rules *rules,
		     struct stat *stat)
{
	const struct foreign file = {
		.root_fd = root_fd, .path = path, .links = FOREIGN_IN_ROOT, .rules = *rules};

	return simplify_error(foreign_open(&file, stat));
}

int mapped_open_path(int root_fd, const char *path, struct stat *stat)
{
	return open_path(root_fd, path, &anybodys, stat);
}

static const struct foreign_rules *rules_of(const struct mapped *mapped)
{
	return mapped->rules ? mapped->rules : &anybodys;
}

/* Returns whether the file is the process's user's or root's, who could have put the right file
 * there. */
static bool is_its_users(const struct mapped *mapped, const struct stat *stat)
{
	uid_t user, root;

	if (!stat->st_uid)
		return true;
	return proc_owners(mapped->pid, &user, &root) == 0 &&
	       (stat->st_uid == user || stat->st_uid == root);
}

/* Returns whether the file is the mapped one. stat() and /proc/PID/maps show different devices for
 * overlayfs and btrfs, and overlayfs may have a layer's number in the upper half of the inode's.
 * The lower half may be the same by chance, or because somebody made many files: so the owner
 * counts too. */
static bool is_mapped(const struct mapped *mapped, const struct stat *stat)
{
	if (!mapped->inode)
		return true;
	if (!major(stat->st_dev) || !major(mapped->device))
		return (uint32_t)stat->st_ino == (uint32_t)mapped->inode &&
		       is_its_users(mapped, stat);
	return stat->st_ino == mapped->inode && stat->st_dev == mapped->device;
}

static int open_by_path(const struct mapped *mapped, struct stat *stat)
{
	_cleanup_close_ int fd = open_path(mapped->root_fd, mapped->path, rules_of(mapped), stat);

	if (fd < 0)
		return fd;
	return is_mapped(mapped, stat) ? TAKE_FD(fd) : -ESTALE;
}

int mapped_open(const struct mapped *mapped, struct stat *stat)
{
	_cleanup_close_ int found = find_link(mapped);

	if (found == -EPERM && mapped->root_fd >= 0)
		return open_by_path(mapped, stat);
	return found < 0 ? found
			 : simplify_error(foreign_open_found(found, rules_of(mapped), stat));
}

int mapped_stat(const struct mapped *mapped, struct stat *stat)
{
	_cleanup_close_ int found = find_link(mapped);

	if (found == -EPERM && mapped->root_fd >= 0) {
		_cleanup_close_ int fd = open_by_path(mapped, stat);
		return fd < 0 ? fd : 0;
	}
	return found < 0 ? found : simplify_error(foreign_check(found, rules_of(mapped), stat));
}
