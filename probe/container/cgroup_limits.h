/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a process's control group lets it have of the CPUs: cgroup v2's cpu.max and cpu.weight, or
 * v1's cpu.cfs_quota_us and cpu.shares. In a job: the kernel's lock of cgroups may be waited for.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct cgroup_limits {
	char *path;  /* of the group in its hierarchy; NULL: nothing is known. The owner frees it */
	double cpus; /* the smallest quota of the group and of those that it lies in; 0: none */
	uint64_t weight; /* cpu.weight: 1 to 10000, 100 if nobody set it; 0: not known */
	uint64_t shares; /* v1's: 1024 if nobody set it; 0: not known */
};

/*
 * Reads the limits of a process. Returns 0, -ESRCH if it is gone, -ENOENT if its groups can't be
 * seen from where we are (another cgroup namespace, no mounted hierarchy), or another negative
 * errno.
 */
int cgroup_limits_read(pid_t pid, struct cgroup_limits *ret);

/* Reads a quota: "200000 100000" of cpu.max are 2 CPUs, "max 100000" is none (0). False: it is none
 * that makes sense. Public for its test. */
bool cgroup_quota_parse(const char *text, double *cpus);
