/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whether a user may look into a process: as ptrace(2) has it for PTRACE_MODE_READ, of a tracer
 * that has no capability and is in our user namespace.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/*
 * All user ids of the process are `uid`, it is dumpable, has no capability and is in our user
 * namespace. 0; -EACCES: not so; -ESRCH: there is no such process; other negative errno: it can't
 * be told. It holds until the process execs. Never blocks.
 */
int permission_to_look(pid_t pid, uid_t uid);

/* Whether the process with this folder in /proc is in our user namespace; where it can't be told it
 * isn't. */
bool permission_same_namespace(int folder);
