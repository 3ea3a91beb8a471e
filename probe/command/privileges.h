/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a command that profiles keeps of the privileges that it was started with: the capabilities
 * that profiling takes (doc/fleet.md has what each is for), and nothing that a program which it
 * starts could get more by. `doctor` profiles itself with the same.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* What it needs beside profiling. */
struct privileges_wish {
	bool low_port;	    /* listens on a port below 1024, now or after a SIGHUP */
	bool others_folder; /* writes into a folder that isn't its own, or that it may not write to
			     */
};

#define PRIVILEGES_TEXT_BYTES 192

/*
 * Gives up all else, for good: capabilities but those that are needed and there, the inheritable
 * and the ambient set; the bounding set, where it may (CAP_SETPCAP); what an exec could add
 * (no_new_privs); that others of its user may look into it (it isn't dumpable, and dumps no core).
 * CAP_SYS_ADMIN stays where, and only where, a trial fails without it and not with it.
 * RLIMIT_MEMLOCK is raised first: before Linux 5.11 it bounds BPF maps.
 *
 * To be called before there is a second thread, for a thread has its own: -EBUSY. `kept` (unless it
 * is NULL) has PRIVILEGES_TEXT_BYTES, and gets the names of what stays: "bpf perfmon …" or "none".
 * Negative errno.
 */
int privileges_drop(const struct privileges_wish *wish, char *kept);

/* Whether we may write into a folder without CAP_DAC_OVERRIDE and CAP_FOWNER. */
bool privileges_own_folder(int dir_fd);
