/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How many descriptors this process has open: more afterwards than before is a leak. */
#pragma once

#include "unit/lib/unit.h"

#include <dirent.h>

static inline unsigned count_fds(void)
{
	DIR *folder = opendir("/proc/self/fd");
	unsigned count = 0;

	assert_non_null(folder);
	while (readdir(folder))
		count++;
	closedir(folder);
	return count;
}
