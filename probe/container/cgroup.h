/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From a process's cgroups to its container: /proc/PID/cgroup of v1, v2 and both, by the names that
 * podman, docker, containerd, CRI-O and Kubernetes give to cgroups, with systemd's and with
 * cgroupfs' driver (doc/containers.md).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "container/container.h"

#define CGROUP_PATH_BYTES 4096

struct cgroups {
	struct container_place place;
	bool has_v2;		      /* there is a line of the v2 hierarchy */
	char path[CGROUP_PATH_BYTES]; /* of it: "/a/b"; "": none, too long, or (by
					 cgroups_read()) seen from another cgroup namespace than the
					 host's */
};

/* Of the text of a /proc/PID/cgroup, hostile in every byte. */
void cgroups_parse(const char *text, size_t len, struct cgroups *ret);

/* Whether paths begin at the host's root: we aren't in a cgroup namespace of our own, whose root is
 * the start of all paths that we read. */
bool cgroups_are_whole(void);

/* -errno of reading it; -ESRCH: it is gone. The kernel may let one wait for its cgroups' lock: in a
 * job. */
int cgroups_read(pid_t pid, struct cgroups *ret);
