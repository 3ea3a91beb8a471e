/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Probe points (uprobes) in one file, for all processes that map it: a BPF program at each entry,
 * and at the return where that is wanted. Source of the interface: Linux's
 * include/uapi/linux/bpf.h, uprobe_multi (6.6; sessions 6.13); on older kernels one perf event for
 * each point.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hooks/tracer_memory.h"

struct uprobes;

/* expected_attach_type of the programs of sessions (struct call_programs). */
#define UPROBES_SESSION_TYPE 57

struct uprobe_point {
	enum call call;
	/*
	 * of the instruction in the file; there, calls of CALLS_RETURNING have the return address
	 * on top of the stack
	 */
	uint64_t offset;
	uint64_t cookie; /* bpf/shared/allocations.h */
	/* in the file, of a number that the kernel raises in each process while the point is there
	 * (the semaphore of a static probe); 0: none */
	uint64_t counter;
};

/*
 * Attaches all points whose call has a program, or none. Any thread. May take long: the kernel
 * visits each process that maps the file. `file_fd` is borrowed, and refers to the file itself
 * (its path may name another one by now). Each descriptor takes a place (elf/fd_budget.h). Returns
 * 0, or a negative errno and a sentence in `why`: -EMFILE if no place is left.
 *
 * Hits that began before may still run after uprobes_close(). If the process ends with descriptors
 * open, the kernel detaches all.
 */
int uprobes_open(struct uprobes **ret, int file_fd, const struct uprobe_point *points, size_t count,
		 const struct call_programs *programs, struct why *why);

/* Detaches all points and frees it; may take long. NULL is ignored. */
void uprobes_close(struct uprobes *uprobes);
