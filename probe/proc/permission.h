/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whether a user may look into a process: as ptrace(2) has it for PTRACE_MODE_READ, of a tracer
 * that has no capability and is in our user namespace.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#define GID_UNKNOWN ((gid_t)-1)

/* Who wants to look. */
struct viewer {
	uid_t uid;
	gid_t gid; /* GID_UNKNOWN: any, as long as the process has but one */
};

/*
 * All user and group ids of the process are the viewer's, it is dumpable, has no capability and is
 * in our user namespace. (Its supplementary groups don't count for ptrace(2) either.) 0; -EACCES:
 * not so; -ESRCH: there is no such process; other negative errno: it can't be told. It holds until
 * the process execs. Never blocks.
 */
int permission_to_look(pid_t pid, const struct viewer *viewer);

/* Whether the process with this folder in /proc is in our user namespace; where it can't be told it
 * isn't. */
bool permission_same_namespace(int folder);
