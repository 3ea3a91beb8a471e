// SPDX-License-Identifier: GPL-2.0-only
#include "access/cgroup_id.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "container/cgroup.h"

#define MOUNT	     "/sys/fs/cgroup"
#define MOUNT_HYBRID "/sys/fs/cgroup/unified" /* beside cgroup v1 */

/* Source: FILEID_KERNFS in include/linux/exportfs.h: the handle is the id */
#define HANDLE_KERNFS 0xfe

static int open_by_id(const char *mount, uint64_t id)
{
	/* With O_PATH it would be EBADF. */
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

static int place_below(const char *mount, uint64_t id, struct container_place *ret)
{
	_cleanup_close_ int fd = open_by_id(mount, id);
	_cleanup_free_ struct cgroups *cgroups = malloc(sizeof(*cgroups));
	char link[64], path[CGROUP_PATH_BYTES], line[CGROUP_PATH_BYTES + 8];
	size_t mount_len = strlen(mount);

	if (fd < 0)
		return fd;
	if (!cgroups)
		return -ENOMEM;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t len = readlink(link, path, sizeof(path) - 1);
	if (len < 0)
		return -errno;
	path[len] = '\0';
	if (strncmp(path, mount, mount_len) != 0)
		return -ENOENT;
	int bytes =
		snprintf(line, sizeof(line), "0::%s\n", path[mount_len] ? path + mount_len : "/");
	cgroups_parse(line, (size_t)bytes, cgroups);
	*ret = cgroups->place;
	return 0;
}

int cgroup_id_place(uint64_t id, struct container_place *ret)
{
	int r = place_below(MOUNT, id, ret);

	return r < 0 ? place_below(MOUNT_HYBRID, id, ret) : r;
}
