/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Looks at a process from the urgent worker: does its command line match, what has it mapped. All
 * of it can hang in the process's own memory or file system, so it is a job that may be given up.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/worker.h"
#include "proc/maps.h"
#include "profile/snooper.h"

struct examination {
	struct job job;

	/* the question */
	pid_t pid;
	uint64_t id; /* of the target that it is about */
	uint64_t start_ticks;
	struct snoopers *snoopers; /* a reference; NULL: don't match */
	pid_t line_pid;
	uint64_t line_start_ticks;
	char comm[16];

	/* the answer, valid once finished */
	int error; /* -ESRCH: it is gone, or another has its pid or its name now */
	struct match match;
	struct maps maps;
	/* For each mapping. The same file as the mapping before's: -1, and `again` is set. -1
	 * alone: it has no file, or one that can't be opened. */
	struct opened {
		int fd;
		bool again;
		struct stat stat;
	} * opened;
	int root_fd; /* O_PATH of its root, or -1 */
	struct stat root_stat;
	uint64_t began_ns, ended_ns; /* of reading its maps */

	void (*done)(void *arg, struct examination *examination, bool finished);
	void *arg;
};

/* -ENOMEM. `question` has the question's fields and done; its snoopers get one more reference. */
int examine(struct worker *worker, const struct examination *question);
