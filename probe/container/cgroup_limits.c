// SPDX-License-Identifier: GPL-2.0-or-later
#include "container/cgroup_limits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "container/cgroup.h"

#define TEXT_BYTES 4096	      /* of a group's file */
#define LIST_BYTES (64 << 10) /* of /proc/PID/cgroup (cgroup.c) */
#define GROUPS_MAX 64	      /* one within the other */

/* A hierarchy that can be mounted at several places, and its files. */
struct hierarchy {
	const char *mounts[2];
	const char *quota, *period, *weight; /* period NULL: it is in the file `quota` */
};

static const struct hierarchy unified = {
	{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}, "cpu.max", NULL, "cpu.weight"};
static const struct hierarchy cpu = {{"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"},
				     "cpu.cfs_quota_us",
				     "cpu.cfs_period_us",
				     "cpu.shares"};

bool cgroup_quota_parse(const char *text, double *cpus)
{
	char *end;

	*cpus = 0;
	if (strncmp(text, "max", 3) == 0 || text[0] == '-')
		return true;
	unsigned long long quota = strtoull(text, &end, 10);
	if (end == text || *end != ' ')
		return false;
	unsigned long long period = strtoull(end, NULL, 10);
	if (!period)
		return false;
	*cpus = (double)quota / (double)period;
	return true;
}

/* Reads a file of a group as a text. */
static int read_text(const char *mount, const char *group, const char *name, char *text,
		     size_t bytes)
{
	_cleanup_buf_ struct buf content = BUF_INIT(TEXT_BYTES);
	char path[CGROUP_PATH_BYTES + 64];

	if (snprintf(path, sizeof(path), "%s%s/%s", mount, group, name) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	int r = file_read(AT_FDCWD, path, &content);
	if (r < 0)
		return r;
	snprintf(text, bytes, "%.*s", (int)content.len, content.data ? content.data : "");
	text[strcspn(text, "\n")] = '\0';
	return 0;
}

static bool read_quota(const struct hierarchy *kind, const char *mount, const char *group,
		       double *cpus)
{
	char text[128], quota[64], period[32];

	if (read_text(mount, group, kind->quota, quota, sizeof(quota)) < 0)
		return false;
	if (!kind->period)
		return cgroup_quota_parse(quota, cpus);
	if (read_text(mount, group, kind->period, period, sizeof(period)) < 0)
		return false;
	snprintf(text, sizeof(text), "%s %s", quota, period);
	return cgroup_quota_parse(text, cpus);
}

/* Reads the smallest quota on the way from the group to the root. */
static void read_quotas(const struct hierarchy *kind, const char *mount, const char *group,
			struct cgroup_limits *limits)
{
	char path[CGROUP_PATH_BYTES];
	double cpus;

	snprintf(path, sizeof(path), "%s", group);
	for (int i = 0; i < GROUPS_MAX; i++) {
		if (read_quota(kind, mount, path, &cpus) && cpus > 0 &&
		    (limits->cpus == 0 || cpus < limits->cpus))
			limits->cpus = cpus;
		char *end = strrchr(path, '/');
		if (!end || !path[0])
			break;
		*end = '\0';
	}
}

/* Reads what a group of this hierarchy has. False: it can't be seen. */
static bool read_group(const struct hierarchy *kind, const char *group,
		       struct cgroup_limits *limits)
{
	char text[64];

	for (size_t i = 0; i < 2; i++) {
		const char *mount = kind->mounts[i];

		if (read_text(mount, group, kind->weight, text, sizeof(text)) < 0)
			continue;
		uint64_t number = strtoull(text, NULL, 10);
		*(kind == &cpu ? &limits->shares : &limits->weight) = number;
		read_quotas(kind, mount, group, limits);
		limits->path = strdup(group);
		return limits->path;
	}
	return false;
}

/* Finds the path of the controller cpu of cgroup v1: "4:cpu,cpuacct:/path". */
static bool find_cpu(char *list, char *path, size_t bytes)
{
	char *line;

	while ((line = strsep(&list, "\n"))) {
		char *id = strsep(&line, ":"), *names = strsep(&line, ":"), *name;

		if (!id || !names || !line)
			continue;
		while ((name = strsep(&names, ","))) {
			if (strcmp(name, "cpu") == 0)
				return snprintf(path, bytes, "%s", line) < (int)bytes;
		}
	}
	return false;
}

int cgroup_limits_read(pid_t pid, struct cgroup_limits *ret)
{
	_cleanup_free_ struct cgroups *cgroups = calloc(1, sizeof(*cgroups));
	_cleanup_buf_ struct buf list = BUF_INIT(LIST_BYTES);
	char name[64], path[CGROUP_PATH_BYTES];

	*ret = (struct cgroup_limits){0};
	if (!cgroups)
		return -ENOMEM;
	snprintf(name, sizeof(name), "/proc/%d/cgroup", (int)pid);
	int r = file_read(AT_FDCWD, name, &list);
	if (r < 0)
		return r == -ENOENT ? -ESRCH : r;
	buf_char(&list, '\0');
	if (buf_error(&list))
		return buf_error(&list);
	if (!cgroups_are_whole())
		return -ENOENT;
	cgroups_parse(list.data, list.len - 1, cgroups);
	if (find_cpu(list.data, path, sizeof(path)) && read_group(&cpu, path[1] ? path : "", ret))
		return 0;
	if (cgroups->path[0] && read_group(&unified, cgroups->path[1] ? cgroups->path : "", ret))
		return 0;
	return -ENOENT;
}
