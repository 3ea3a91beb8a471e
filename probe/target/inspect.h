/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inspection of a process, a job of the urgent worker: whether its command line matches, and what
 * it has mapped. Each step can hang in the process's own memory or file system, so the job may be
 * given up.
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
	uint64_t id; /* id of the target in question */
	uint64_t start_ticks;
	struct snoopers *snoopers; /* a reference; NULL: don't match */
	bool where;		   /* read its cgroups */
	pid_t ns_pid;		   /* 0: read it */
	pid_t line_pid;
	uint64_t line_start_ticks;
	char comm[16];

	/* the answer, valid once finished */
	/* 0; -ESRCH: the process is gone, or has another program or name now */
	int error;
	struct match match;
	struct maps maps;
	/* mappings left without names: too many, or their paths too long */
	uint64_t left_out;
	/* One for each mapping. */
	struct opened {
		/*
		 * number of the first mapping of the same file; if that is another one, the rest is
		 * empty
		 */
		size_t same;
		bool left_out; /* too many files: it isn't known which one that is */
		bool known;    /* it has a file, described by `stat` */
		/*
		 * Users other than root may put files beside it, which could be taken for its debug
		 * file; not set for another root.
		 */
		bool in_open_folder;
		bool owner_is_told; /* the kernel says who owns the file (foreign_tells_owner()) */
		struct stat stat;
		int fd; /* the file, with its place (elf/fd_budget.h); -1: no place was left */
	} * opened;
	/* The process's cgroups; NULL: not asked for, or not known. */
	struct cgroups *cgroups;
	uint64_t netns_id;   /* 0: unknown */
	uint64_t program_id; /* proc_program() */
	bool has_program;    /* `program` describes the file that is executed */
	struct stat program;
	bool has_root;	 /* other_root is known */
	bool other_root; /* its root isn't ours; root_stat describes it */
	struct stat root_stat;
	int root_fd; /* O_PATH of such a root, with its place; -1: no place was left */
	uint64_t began_ns, ended_ns; /* begin and end of reading the maps, CLOCK_MONOTONIC */

	void (*done)(void *arg, struct inspection *examination, bool finished);
	void *arg;
};

/*
 * Submits an inspection. `question` has the question's fields, job.whose and done(); takes another
 * reference to its snoopers. Returns 0 or -ENOMEM.
 */
int inspect(struct worker *worker, const struct inspection *question);
