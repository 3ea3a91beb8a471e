/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What every fuzz target needs. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define FUZZ_FILE_MAX (1024 * 1024)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* What holds whatever the input is. */
static inline void demand(bool holds)
{
	if (!holds)
		abort();
}

/* The bytes as a file, borrowed, until the next ones. */
static inline int fuzz_file(const uint8_t *data, size_t bytes)
{
	static int fd = -1;

	if (fd < 0)
		fd = memfd_create("fuzz", MFD_CLOEXEC);
	demand(ftruncate(fd, 0) == 0 && pwrite(fd, data, bytes, 0) == (ssize_t)bytes);
	return fd;
}
