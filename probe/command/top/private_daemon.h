/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A daemon of one's own, as a child: it restores and keeps nothing, writes no files, and listens at
 * one Unix socket, in a folder that nobody else may enter. It ends with its parent. Main thread
 * only, before there is another one.
 */
#pragma once

#include <sys/types.h>

#include "base/why.h"

#define PRIVATE_PATH_BYTES 64

struct private_daemon {
	pid_t pid;						     /* 0: there is none */
	int log_fd;						     /* what it has logged */
	char folder[PRIVATE_PATH_BYTES], socket[PRIVATE_PATH_BYTES]; /* paths */
};

/* Starts it. Returns 0, or a negative errno and a sentence in `why`. */
int private_daemon_start(struct private_daemon *daemon, struct why *why);

/* Writes the last error that it has logged, if there is one. */
void private_daemon_explain(const struct private_daemon *daemon, struct why *why);

/* Ends it and waits for its end. */
void private_daemon_stop(struct private_daemon *daemon);
