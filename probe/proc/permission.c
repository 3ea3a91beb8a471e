// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/permission.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/file.h"

#define STATUS_BYTES (1 << 20) /* with the numbers of 65,536 groups */

/* Returns whether all ids of a line are the same; proc(5): real, effective, saved and file
 * system's. The process can't forge the line: line ends are escaped in `Name:` before it. */
static bool has_one_id(const char *status, const char *name, unsigned *ret)
{
	const char *line = strstr(status, name);
	unsigned ids[4];

	if (!line ||
	    sscanf(line + strlen(name), "%u %u %u %u", &ids[0], &ids[1], &ids[2], &ids[3]) != 4)
		return false;
	*ret = ids[0];
	return ids[1] == ids[0] && ids[2] == ids[0] && ids[3] == ids[0];
}

static bool has_only_ids_of(const char *status, const struct viewer *viewer)
{
	unsigned uid, gid;

	return has_one_id(status, "\nUid:", &uid) && uid == viewer->uid &&
	       has_one_id(status, "\nGid:", &gid) &&
	       (viewer->gid == GID_UNKNOWN || gid == viewer->gid);
}

static bool has_no_capability(const char *status)
{
	const char *line = strstr(status, "\nCapPrm:");
	unsigned long long permitted;

	return line && sscanf(line, "\nCapPrm: %llx", &permitted) == 1 && !permitted;
}

/* Returns whether the process is dumpable. If not, those of its files in /proc that need the right
 * to trace belong to root. Source: task_dump_owner() in fs/proc/base.c */
static bool is_dumpable(int folder, uid_t uid)
{
	struct stat stat;

	return fstatat(folder, "environ", &stat, AT_SYMLINK_NOFOLLOW) == 0 && stat.st_uid == uid;
}

bool permission_same_namespace(int folder)
{
	struct stat theirs, ours;

	return fstatat(folder, "ns/user", &theirs, 0) == 0 &&
	       stat("/proc/self/ns/user", &ours) == 0 && theirs.st_dev == ours.st_dev &&
	       theirs.st_ino == ours.st_ino;
}

int permission_to_look(pid_t pid, const struct viewer *viewer)
{
	_cleanup_buf_ struct buf status = BUF_INIT(STATUS_BYTES);
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	_cleanup_close_ int folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	int r = file_read(folder, "status", &status);
	if (r == 0)
		buf_char(&status, '\0');
	if (r < 0 || buf_error(&status))
		return r == -ENOENT ? -ESRCH : r < 0 ? r : buf_error(&status);
	return has_only_ids_of(status.data, viewer) && has_no_capability(status.data) &&
			       is_dumpable(folder, viewer->uid) && permission_same_namespace(folder)
		       ? 0
		       : -EACCES;
}
