// SPDX-License-Identifier: GPL-2.0-or-later
#include "container/cpu_group.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "container/cgroup.h"
#include "container/cgroup_limits.h"

#define TEXT_BYTES (64 << 10)

/* Returns whether the file of a group of cgroup v2 is there; reads it into `text`, unless that is
 * NULL. */
static bool has_file(const char *group, const char *name, struct buf *text)
{
	char path[CGROUP_PATH_BYTES + 64];

	snprintf(path, sizeof(path), "/sys/fs/cgroup%s/%s", group, name);
	return text ? file_read(AT_FDCWD, path, text) == 0 : access(path, F_OK) == 0;
}

static bool is_only_process(const char *group)
{
	_cleanup_buf_ struct buf text = BUF_INIT(TEXT_BYTES);
	char ours[32];

	snprintf(ours, sizeof(ours), "%d\n", (int)getpid());
	return has_file(group, "cgroup.procs", &text) && text.len == strlen(ours) &&
	       memcmp(text.data, ours, text.len) == 0;
}

/* Returns whether we are in the root of the groups that share CPUs: elsewhere autogroups aren't in
 * force. */
static bool is_in_root(struct cgroups *cgroups)
{
	struct cgroup_limits limits;

	if (!cgroups_are_whole())
		return false;
	for (char *end; (end = strrchr(cgroups->path, '/')); *end = '\0') {
		if (end[1] && has_file(cgroups->path, "cpu.weight", NULL))
			return false;
	}
	if (cgroup_limits_read(getpid(), &limits) < 0)
		return true;
	bool is_root = !limits.shares || strcmp(limits.path, "/") == 0; /* of v1 */
	free(limits.path);
	return is_root;
}

static bool leads_autogroup(void)
{
	_cleanup_buf_ struct buf text = BUF_INIT(TEXT_BYTES);

	return getsid(0) == getpid() &&
	       file_read(AT_FDCWD, "/proc/sys/kernel/sched_autogroup_enabled", &text) == 0 &&
	       text.len && text.data[0] == '1';
}

bool cpu_group_is_ours(void)
{
	_cleanup_free_ struct cgroups *cgroups = calloc(1, sizeof(*cgroups));
	_cleanup_buf_ struct buf text = BUF_INIT(TEXT_BYTES);

	if (!cgroups || file_read(AT_FDCWD, "/proc/self/cgroup", &text) < 0)
		return false;
	/* In a cgroup namespace paths begin at its root, and so does what is mounted. */
	cgroups_parse(text.data, text.len, cgroups);
	const char *group = strcmp(cgroups->path, "/") == 0 ? "" : cgroups->path;
	if (cgroups->path[0] && has_file(group, "cpu.weight", NULL))
		return is_only_process(group);
	return leads_autogroup() && is_in_root(cgroups);
}
