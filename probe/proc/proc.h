/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Facts about a process from /proc/PID. -ESRCH: it is gone. None of these follows what the process
 * may have put there, but proc_cmdline() reads its memory, which can hang (a page of a FUSE file):
 * only in a job.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PROC_COMM_BYTES 16

struct proc_stat {
	char comm[PROC_COMM_BYTES]; /* of the main thread; NUL-terminated, any other bytes */
	uint64_t start_ticks;	    /* since boot: tells a process from another with the same pid */
};

int proc_stat(pid_t pid, struct proc_stat *stat);

/* The process that a thread (or process) of this id belongs to. */
int proc_tgid(pid_t tid, pid_t *tgid);

/* Its real user: not of whom /proc/PID is, which a process may make root. */
int proc_uid(pid_t pid, uid_t *uid);

/* Tells its mount namespace from others; 0: it is that of process 1, or can't be told. */
uint32_t proc_mounts(pid_t pid);

/* Its pid in its own pid namespace. */
int proc_ns_pid(pid_t pid, pid_t *ns_pid);

/* Its effective user, and who its user namespace calls root, both as ours has them: that is 0 where
 * the namespaces are the same; (uid_t)-1: nobody. */
int proc_owners(pid_t pid, uid_t *user, uid_t *root);

/* Tells the program that runs in it from the one that an exec puts in its place: the kernel gives
 * each other random addresses. A new name, a new thread and a fork leave it as it is. 0: it can't
 * be told. */
uint64_t proc_program(pid_t pid);

/* Whether pids here are those of the host, which the kernel's programs see: not so in a container
 * with a pid namespace of its own. True where that can't be told. */
bool proc_pids_are_the_hosts(void);

/* The name alone, for a third of the cost. */
int proc_comm(pid_t pid, char comm[PROC_COMM_BYTES]);

/* A start time in ns since boot (task->start_boottime) as start_ticks has it. */
uint64_t proc_ticks_of_ns(uint64_t start_boottime_ns);

/* The same as ms since 1970, by the wall clock; the answer for one tick stays the same as long as
 * that clock isn't set by more than half a second. */
uint64_t proc_epoch_ms_of_ticks(uint64_t start_ticks);

/* Whether `needle` occurs in the command line (arguments joined by blanks, at most 128 KiB). */
int proc_cmdline_contains(pid_t pid, const char *needle, bool *found);

/* Calls each(arg, pid) for every process there is; -errno of reading /proc. */
int proc_each(void (*each)(void *arg, pid_t pid), void *arg);
