// SPDX-License-Identifier: GPL-2.0-or-later
#include "access/cgroup_id.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "container/cgroup.h"

#define MOUNT	     "/sys/fs/cgroup"
#define MOUNT_HYBRID "/sys/fs/cgroup/unified" /* beside cgroup v1 */

/* Source: FILEID_KERNFS in include/linux/exportfs.h: the handle is the id */
#define HANDLE_KERNFS 0xfe

#define LINE_BYTES    (CGROUP_PATH_BYTES + 8)

static int open_by_id(const char *mount, uint64_t id)
{
	/* open_by_handle_at() refuses a mount_fd that is O_PATH: EBADF. */
	_cleanup_close_ int mount_fd = open(mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	union {
		struct file_handle handle;
		char room[sizeof(struct file_handle) + sizeof(id)];
	} wanted = {.handle = {.handle_bytes = sizeof(id), .handle_type = HANDLE_KERNFS}};

	if (mount_fd < 0)
		return -errno;
	memcpy(wanted.handle.f_handle, &id, sizeof(id));
	int fd = open_by_handle_at(mount_fd, &wanted.handle, O_PATH | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Writes the line that /proc/PID/cgroup has for the cgroup. */
static int read_line(const char *mount, uint64_t id, char line[LINE_BYTES], size_t *ret_len)
{
	_cleanup_close_ int fd = open_by_id(mount, id);
	char link[64], path[CGROUP_PATH_BYTES];
	size_t mount_len = strlen(mount);

	if (fd < 0)
		return fd;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t len = readlink(link, path, sizeof(path) - 1);
	if (len < 0)
		return -errno;
	path[len] = '\0';
	if (strncmp(path, mount, mount_len) != 0)
		return -ENOENT;
	*ret_len = (size_t)snprintf(line, LINE_BYTES, "0::%s\n",
				    path[mount_len] ? path + mount_len : "/");
	return 0;
}

static int find_cgroups(uint64_t id, struct cgroups *ret)
{
	char line[LINE_BYTES];
	size_t len = 0;
	int r = read_line(MOUNT, id, line, &len);

	if (r < 0)
		r = read_line(MOUNT_HYBRID, id, line, &len);
	if (r == 0)
		cgroups_parse(line, len, ret);
	return r;
}

int cgroup_id_place(uint64_t id, struct container_place *ret)
{
	_cleanup_free_ struct cgroups *cgroups = malloc(sizeof(*cgroups));

	if (!cgroups)
		return -ENOMEM;
	int r = find_cgroups(id, cgroups);
	if (r == 0)
		*ret = cgroups->place;
	return r;
}

enum cgroup_sight cgroup_id_try(uint64_t own)
{
	_cleanup_free_ struct cgroups *found = malloc(sizeof(*found));
	_cleanup_free_ struct cgroups *ours = malloc(sizeof(*ours));

	if (!cgroups_are_whole())
		return CGROUPS_BELOW;
	if (!own || !found || !ours || find_cgroups(own, found) < 0 ||
	    cgroups_read(getpid(), ours) < 0)
		return CGROUPS_UNSEEN;
	return ours->path[0] && strcmp(found->path, ours->path) == 0 ? CGROUPS_ALL : CGROUPS_UNSEEN;
}
