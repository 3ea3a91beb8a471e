/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A parser of /proc/PID/cgroup (v1, v2 and both): finds a process's container by the names that
 * podman, docker, containerd, CRI-O and Kubernetes give to cgroups, with the systemd and with the
 * cgroupfs driver (doc/containers.md).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "container/container.h"

#define CGROUP_PATH_BYTES 4096

struct cgroups {
	struct container_place place;
	bool has_v2;		      /* the text has a line of the v2 hierarchy */
	char path[CGROUP_PATH_BYTES]; /* the v2 cgroup: "/a/b"; "": none, too long, or (by
					 cgroups_read()) we aren't in the host's cgroup namespace */
};

/* Parses the text of a /proc/PID/cgroup, in which every byte may be hostile. */
void cgroups_parse(const char *text, size_t len, struct cgroups *ret);

/* Returns whether the paths that we read begin at the host's root cgroup. They don't if we are in
 * another cgroup namespace: then they begin at its root. */
bool cgroups_are_whole(void);

/* Reads the cgroups of a process. Returns 0, or a negative errno: -ESRCH if the process is gone.
 * May wait for the kernel's lock of cgroups: in a job. */
int cgroups_read(pid_t pid, struct cgroups *ret);
