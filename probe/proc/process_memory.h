/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory of another process, by whatever reads it: the system's call, or a test's bytes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Reads memory of a process: 0, or a negative errno when not all of it is there. */
struct process_memory {
	int (*read)(void *arg, uint64_t address, void *to, size_t bytes);
	void *arg;
	/* Where a part of it is a copy (python/pycode_copy.h); else NULL. How many bytes of the
	 * copy there are from that address on. */
	size_t (*held)(void *arg, uint64_t address);
	/* Whether all that was read came from the copy, which doesn't change. From then on nothing
	 * does. */
	bool (*settle)(void *arg);
};

/* Whose memory: of the process that began then, as long as it runs that program. */
struct memory_id {
	pid_t pid;
	uint64_t start_ticks; /* 0: not known, the program alone tells it from others */
	uint64_t program;     /* proc_program(), when the process was looked at */
};

/*
 * /proc/PID/mem, for memory_read(). From then on it is this memory: when the process execs or ends
 * there is nothing to be read any more, whoever has its pid. Opening asks whether we may read (as
 * ptrace(2) does), reading no longer does. -ESRCH: there is no such process any more, or it
 * runs another program; or the errno of opening.
 */
int memory_open(const struct memory_id *id);

/* -ESRCH: it has gone; -EFAULT: not all of it is mapped. May hang: in a job. */
int memory_read(int fd, uint64_t address, void *to, size_t bytes);
