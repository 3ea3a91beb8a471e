/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads facts about a process from /proc/PID. Functions with an int result return 0, or a negative
 * errno: -ESRCH if the process is gone. None of them follows a path that the process chose. Any
 * thread; but proc_cmdline_contains() reads the process's memory, which can hang (a page of a FUSE
 * file): only in a job.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PROC_COMM_BYTES 16

struct proc_stat {
	char comm[PROC_COMM_BYTES]; /* the main thread's name: any bytes but NUL, then a NUL */
	char state;		    /* proc(5): R, S, D, Z … */
	bool is_kernel;		    /* a thread of the kernel */
	uint64_t start_ticks;	    /* clock ticks since boot; differs among processes of one pid */
	uint64_t cpu_ticks;	    /* on CPUs, of all its threads, also those that have ended */
	uint64_t threads;
	uint64_t rss_pages; /* resident */
};

/* Reads the process's name, start and sums. */
int proc_stat(pid_t pid, struct proc_stat *stat);

/* Finds the process to which the thread (or process) `tid` belongs. */
int proc_tgid(pid_t tid, pid_t *tgid);

/* Reads the process's real user; the owner of /proc/PID isn't that user if the process isn't
 * dumpable. */
int proc_uid(pid_t pid, uid_t *uid);

/* Returns a number of the process's mount namespace; 0: that of process 1, or not known. */
uint32_t proc_mounts(pid_t pid);

/* Reads the process's pid in its own pid namespace. */
int proc_ns_pid(pid_t pid, pid_t *ns_pid);

/* Reads the process's effective user, and the user who is root in the process's user namespace,
 * both as our namespace numbers them. *root is 0 if the namespaces are the same, (uid_t)-1 if
 * nobody is root there. */
int proc_owners(pid_t pid, uid_t *user, uid_t *root);

/* Returns a number that an exec changes: a hash of the auxiliary vector, in which the kernel gives
 * each program other random addresses. A new name, a new thread and a fork don't change it. 0: not
 * known. */
uint64_t proc_program(pid_t pid);

/* Returns whether the process has another CLOCK_MONOTONIC than we have (time_namespaces(7)). */
bool proc_moves_clock(pid_t pid);
/* The same by the text of its /proc/PID/timens_offsets. */
bool proc_text_moves_clock(const char *text);

/* Returns whether our pids are those of the host, which BPF programs see; false in a container with
 * a pid namespace of its own. True if this can't be found out. */
bool proc_pids_are_the_hosts(void);

/* Reads the process's name alone, for a third of the cost of proc_stat(). */
int proc_comm(pid_t pid, char comm[PROC_COMM_BYTES]);

/* Reads the first bytes of the name of the file that the process runs, without its folders. */
int proc_program_name(pid_t pid, char name[PROC_COMM_BYTES]);

/* Turns a start time in ns since boot (task->start_boottime) into start_ticks. */
uint64_t proc_ticks_of_ns(uint64_t start_boottime_ns);

/* Turns start_ticks into ms since 1970, by the wall clock. The result for one tick stays the same
 * as long as that clock isn't set by more than half a second. */
uint64_t proc_epoch_ms_of_ticks(uint64_t start_ticks);

/* Finds out whether `needle` occurs in the command line (arguments joined by blanks, the first 128
 * KiB). A process that has ended has none, even before its parent has waited for it: -ESRCH. */
int proc_cmdline_contains(pid_t pid, const char *needle, bool *found);

/*
 * Reads the first bytes of the command line, its arguments joined by blanks, into `text` of `bytes`
 * bytes, with a NUL; "": it has none. *is_cut says whether there are more. Reads the process's
 * memory, which may hang.
 */
int proc_command(pid_t pid, char *text, size_t bytes, bool *is_cut);

/* Returns whether the kernel counts how long threads wait for a CPU. */
bool proc_counts_waits(void);

/*
 * Sums up how long the process's living threads have waited for a CPU, at most *threads_max of
 * them, and subtracts their number from that. -E2BIG: there are more.
 */
int proc_wait_ns(pid_t pid, size_t *threads_max, uint64_t *wait_ns);

/* Calls each(arg, pid) for every process. Returns 0, or the negative errno of opening /proc. */
int proc_each(void (*each)(void *arg, pid_t pid), void *arg);
