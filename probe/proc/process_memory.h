/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads memory of another process, by /proc/PID/mem; or, through struct process_memory, from a copy
 * or from bytes of a test. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A reader of a process's memory. `held` and `settle` are set only if a part of the memory is a
 * copy (python/pycode_copy.h), else NULL. */
struct process_memory {
	/* Reads `bytes` bytes. Returns 0, or a negative errno if not all of them can be read. */
	int (*read)(void *arg, uint64_t address, void *to, size_t bytes);
	void *arg;
	/* Returns how many bytes the copy holds from that address on. */
	size_t (*held)(void *arg, uint64_t address);
	/* Returns whether all bytes read so far came from the copy, which doesn't change. From then
	 * on nothing is read from the copy. */
	bool (*settle)(void *arg);
};

/* Identifies a memory: that of a process, as long as the process runs one program. */
struct process_memory_id {
	pid_t pid;
	uint64_t start_ticks; /* the process's start; 0: not known, only `program` is compared */
	uint64_t program;     /* proc_program(), when the process was looked at */
};

/*
 * Opens /proc/PID/mem, for process_memory_read(). The descriptor stays with this memory: once the
 * process has execed or ended nothing can be read, whatever process has the pid. Opening asks
 * whether we may read (as ptrace(2) does), reading doesn't. Returns a descriptor, which the caller
 * owns, or a negative errno: -ESRCH if the process is gone or runs another program.
 */
int process_memory_open(const struct process_memory_id *id);

/* Reads `bytes` bytes. Returns 0, or a negative errno: -ESRCH if the memory is gone; -EFAULT if not
 * all bytes are mapped. May hang: in a job. */
int process_memory_read(int fd, uint64_t address, void *to, size_t bytes);
