// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/made_dump_open.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "proc/foreign.h"
#include "proc/mapped.h"
#include "proc/proc.h"

/* Returns whether the process is the one that has the mapping, and runs the same program. */
static bool is_same_process(const struct made_dump_place *place)
{
	struct proc_stat stat;

	return proc_stat(place->pid, &stat) == 0 && stat.start_ticks == place->start_ticks &&
	       proc_program(place->pid) == place->program;
}

int made_dump_open(const struct made_dump_place *place)
{
	uid_t user, root;
	struct stat stat;

	if (proc_moves_clock(place->pid)) /* its times aren't ours */
		return -ENOTSUP;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/root", (int)place->pid);
	_cleanup_close_ int root_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0 || proc_owners(place->pid, &user, &root) < 0)
		return -ESRCH;
	const struct foreign_rules rules = {.owners = &user, .owners_count = 1};
	const struct mapped mapped = {
		.pid = place->pid,
		.start = place->start,
		.end = place->end,
		.root_fd = root_fd,
		.path = place->path,
		.device = place->device,
		.inode = place->inode,
		.rules = &rules,
	};
	_cleanup_close_ int fd = mapped_open(&mapped, &stat);
	if (fd < 0)
		return fd == -ENOEXEC || fd == -ELOOP ? -EPERM : fd;
	return is_same_process(place) ? TAKE_FD(fd) : -ESRCH; /* checked last, of what was read */
}
