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

#include "loop/worker.h"
#include "container/cgroup.h"
#include "proc/maps.h"
#include "select/snooper.h"

struct inspection {
	struct job job;

	/* the question */
	pid_t pid;
	uint64_t id; /* of the target that it is about */
	uint64_t start_ticks;
	struct snoopers *snoopers; /* a reference; NULL: don't match */
	bool where;		   /* its cgroups are wanted */
	pid_t ns_pid;		   /* 0: it is wanted */
	pid_t line_pid;
	uint64_t line_start_ticks;
	char comm[16];

	/* the answer, valid once finished */
	int error; /* -ESRCH: it is gone, or another has its pid or its name now */
	struct match match;
	struct maps maps;
	uint64_t left_out; /* mappings that have no names: too many, or their paths too long */
	/* For each mapping. */
	struct opened {
		size_t same;   /* the first mapping of its file: if it isn't that, the rest is empty
				*/
		bool left_out; /* it was too much: it isn't known which file that is */
		bool known;    /* it has a file, which `stat` describes */
		/* Others than root may lay files beside it, of which one may be taken for its debug
		 * file; not told in another root. */
		bool in_open_folder;
		bool owner_is_told; /* by the kernel (foreign_tells_owner()) */
		struct stat stat;
		int fd; /* of the file, with its place (elf/fd_budget.h), or -1: none was left */
	} * opened;
	/* Where it is; NULL: that wasn't asked, or isn't known. */
	struct cgroups *cgroups;
	uint64_t netns_id;   /* 0: unknown */
	uint64_t program_id; /* proc_program() */
	bool has_program;    /* `program` describes the file that it executes */
	struct stat program;
	bool has_root;	 /* other_root tells; else it isn't known */
	bool other_root; /* it has another root than we, which root_stat describes */
	struct stat root_stat;
	int root_fd; /* O_PATH of such a root, with its place, or -1: none was left */
	uint64_t began_ns, ended_ns; /* of reading its maps */

	void (*done)(void *arg, struct inspection *examination, bool finished);
	void *arg;
};

/* -ENOMEM. `question` has the question's fields, job.whose and done; its snoopers get one more
 * reference. */
int inspect(struct worker *worker, const struct inspection *question);
