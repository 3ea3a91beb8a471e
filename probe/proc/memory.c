// SPDX-License-Identifier: GPL-2.0-only
#include "proc/memory.h"

#include <errno.h>
#include <sys/uio.h>

static int process_read(void *arg, uint64_t address, void *to, size_t bytes)
{
	struct iovec local = {.iov_base = to, .iov_len = bytes};
	struct iovec remote = {.iov_base = (void *)(uintptr_t)address, .iov_len = bytes};

	ssize_t n = process_vm_readv(*(const pid_t *)arg, &local, 1, &remote, 1, 0);
	if (n < 0)
		return -errno;
	return (size_t)n == bytes ? 0 : -EFAULT;
}

struct process_memory process_memory_of(const pid_t *pid)
{
	return (struct process_memory){.read = process_read, .arg = (void *)pid};
}
