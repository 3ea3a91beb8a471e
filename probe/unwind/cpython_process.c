// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <sys/uio.h>

#include "unwind/cpython.h"

int cpython_of_process(pid_t pid, const struct cpython_file *file, uint64_t bias,
		       struct python_layout *layout)
{
	unsigned char debug[PYTHON_DEBUG_OFFSETS_BYTES];
	struct iovec local = {debug, sizeof(debug)};
	struct iovec remote = {(void *)(uintptr_t)(file->runtime + bias), sizeof(debug)};
	ssize_t n = 0;

	if (file->version >> 16 >= 0x030d) {
		n = process_vm_readv(pid, &local, 1, &remote, 1, 0);
		if (n < 0)
			return -errno;
	}
	int r = python_layout_of(file->version, debug, (size_t)n, layout);
	if (r < 0)
		return r;
	layout->walk.runtime = file->runtime + bias;
	layout->walk.code_type = file->code_type + bias;
	return 0;
}
