/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Drops privileges: a command that profiles keeps only the capabilities that profiling needs
 * (doc/fleet.md says what each is for), and nothing by which a program that it starts could get
 * more. `doctor` profiles itself with the same capabilities.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* What the command needs capabilities for, beside profiling. */
struct privileges_wish {
	bool low_port;	    /* listens on a port below 1024, now or after a SIGHUP */
	bool others_folder; /* writes into a folder where privileges_own_folder() is false */
};

#define PRIVILEGES_TEXT_BYTES 192

/*
 * Gives up for good: all capabilities that aren't needed; the inheritable and the ambient set; the
 * bounding set, if CAP_SETPCAP allows that; privileges that an exec could add (no_new_privs). Makes
 * the process not dumpable: other processes of its user can't look into it, and it dumps no core.
 * CAP_SYS_ADMIN is kept only if a trial fails without it and not with it. RLIMIT_MEMLOCK is raised
 * first: before Linux 5.11 it bounds BPF maps.
 *
 * To be called before there is a second thread, as each thread has capabilities of its own. `kept`
 * (NULL, or PRIVILEGES_TEXT_BYTES) gets the names of what is kept: "bpf perfmon …" or "none".
 * Returns 0, or a negative errno: -EBUSY if there is a second thread; others.
 */
int privileges_drop(const struct privileges_wish *wish, char *kept);

/* Returns whether we may write into a folder without CAP_DAC_OVERRIDE and CAP_FOWNER; true if that
 * can't be found out. */
bool privileges_own_folder(int dir_fd);
