// SPDX-License-Identifier: GPL-2.0-or-later
#include "container/cpu_group.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "container/cgroup.h"

#define TEXT_BYTES (64 << 10)

static bool has_autogroups(void)
{
	_cleanup_buf_ struct buf text = BUF_INIT(TEXT_BYTES);

	return file_read(AT_FDCWD, "/proc/sys/kernel/sched_autogroup_enabled", &text) == 0 &&
	       text.len && text.data[0] == '1';
}

/* Returns whether our control group has a weight. (The root has none. In a cgroup namespace paths
 * begin at its root, and so does what is mounted.) */
static bool has_weight(void)
{
	_cleanup_free_ struct cgroups *cgroups = calloc(1, sizeof(*cgroups));
	_cleanup_buf_ struct buf text = BUF_INIT(TEXT_BYTES);
	char path[CGROUP_PATH_BYTES + 64];

	if (!cgroups || file_read(AT_FDCWD, "/proc/self/cgroup", &text) < 0)
		return false;
	cgroups_parse(text.data, text.len, cgroups);
	snprintf(path, sizeof(path), "/sys/fs/cgroup%s/cpu.weight", cgroups->path);
	return cgroups->path[0] && access(path, F_OK) == 0;
}

bool cpu_group_is_ours(void)
{
	return getsid(0) == getpid() && (has_autogroups() || has_weight());
}
