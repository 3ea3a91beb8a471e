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
	/* Where a part of it is a copy (symbol/pycode_copy.h); else NULL. How many bytes of the
	 * copy there are from that address on. */
	size_t (*held)(void *arg, uint64_t address);
	/* Whether all that was read came from the copy, which doesn't change. From then on nothing
	 * does. */
	bool (*settle)(void *arg);
};

/* By process_vm_readv(); *pid is the caller's and stays. */
struct process_memory process_memory_of(const pid_t *pid);
