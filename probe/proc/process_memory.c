// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/process_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "proc/proc.h"

/*
 * Returns 0 if the memory that was opened before is the one that `id` names. If the process has the
 * same start and runs the same program now, it ran that program also when its memory was opened: an
 * exec changes proc_program(), and never back.
 */
static int check_process(const struct process_memory_id *id)
{
	struct proc_stat stat;

	if (proc_program(id->pid) != id->program)
		return -ESRCH;
	if (!id->start_ticks)
		return 0;
	int r = proc_stat(id->pid, &stat);
	if (r == 0 && stat.start_ticks != id->start_ticks)
		r = -ESRCH;
	return r;
}

int process_memory_open(const struct process_memory_id *id)
{
	char path[64];

	if (!id->program)
		return -ESRCH;
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)id->pid);
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	int r = check_process(id);
	return r < 0 ? r : TAKE_FD(fd);
}

int process_memory_read(int fd, uint64_t address, void *to, size_t bytes)
{
	if (!bytes)
		return 0;
	ssize_t n = pread(fd, to, bytes, (off_t)address);
	if (n == 0)
		return -ESRCH;
	if (n < 0 && errno != EIO && errno != EINVAL) /* EINVAL: not a user address */
		return -errno;
	return n < 0 || (size_t)n < bytes ? -EFAULT : 0;
}
