/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The command that a recording starts. Its process is forked before all else and waits, so that it
 * inherits neither descriptors nor limits nor signal handling of ours. The process execs the
 * command when all probes are armed.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct workload {
	pid_t pid;	  /* 0: there is no command */
	int pidfd;	  /* readable when the process has ended */
	int go_fd;	  /* writing a byte lets the process exec; -1: released */
	int exec_fd;	  /* readable when exec has succeeded or failed: workload_exec_error() */
	bool ignores_int; /* the process was started with SIGINT ignored */
	bool ended;	  /* workload_wait() has taken the status */
	int status;	  /* of waitpid(), once `ended` */
};

/* Forks the waiting process; with `to_stderr` its standard output is standard error. To be called
 * before threads, signal handling and descriptors of ours are made. Returns 0, or a negative
 * errno. */
int workload_start(struct workload *workload, char *const *argv, bool to_stderr);

/* Lets the process exec. Returns 0, or -ECHILD if it was killed before. */
int workload_release(struct workload *workload);

/* Returns the errno of exec, or 0 if exec succeeded or the process was killed before. Blocks until
 * exec_fd is readable. */
int workload_exec_error(const struct workload *workload);

/* Waits for the end of the process and takes its status. */
void workload_wait(struct workload *workload);

/* Sends a signal, unless the process has ended. */
void workload_signal(const struct workload *workload, int signal_number);

/* Closes the descriptors. A process that was never released exits without an exec. */
void workload_done(struct workload *workload);
