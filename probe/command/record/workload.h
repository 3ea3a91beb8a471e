/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The command that a recording starts. Its process is there, waiting, before anything else is done,
 * so that it inherits nothing of ours: neither descriptors nor limits nor signals. It execs when it
 * is told to, once all probes are armed.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct workload {
	pid_t pid; /* 0: there is none */
	int pidfd; /* readable when it has ended */
	int go_fd;
	int exec_fd;	  /* readable when it has execed, or could not: workload_exec_error() */
	bool ignores_int; /* it was started with SIGINT ignored */
	bool ended;
	int status; /* once it has ended, as of waitpid() */
};

/* Starts the waiting process; with `to_stderr` its standard output is standard error. Negative
 * errno. To be called before threads, signal handling and descriptors of ours are made. */
int workload_start(struct workload *workload, char *const *argv, bool to_stderr);

/* Lets it exec. -ECHILD: it has been killed before. */
int workload_release(struct workload *workload);

/* 0: it has execed (or was killed before it could); else the errno of exec. */
int workload_exec_error(const struct workload *workload);

/* Takes its status when pidfd is readable, or waits for that. */
void workload_wait(struct workload *workload);

/* Nothing if it has ended. */
void workload_signal(const struct workload *workload, int signal_number);

/* If it was never released, it ends without a trace. */
void workload_done(struct workload *workload);
