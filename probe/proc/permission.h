/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decides whether a user may look into a process, by the rules of ptrace(2) for PTRACE_MODE_READ
 * and a tracer that has no capability and is in our user namespace.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#define GID_UNKNOWN ((gid_t)-1)

/* The user who wants to look. */
struct viewer {
	uid_t uid;
	gid_t gid; /* GID_UNKNOWN: any, if all group ids of the process are the same */
};

/*
 * Returns 0 if all user and group ids of the process are the viewer's, and the process is dumpable,
 * has no capability and is in our user namespace. (Supplementary groups don't count, as for
 * ptrace(2).) Else returns -EACCES; -ESRCH if there is no such process; or another negative errno
 * if this can't be found out. The answer holds until the process execs. Never blocks.
 */
int permission_to_look(pid_t pid, const struct viewer *viewer);

/* Returns whether the process with this folder in /proc is in our user namespace; false if this
 * can't be found out. */
bool permission_same_namespace(int folder);
