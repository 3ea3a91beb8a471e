/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Probe points in one file, for all processes that have it mapped: a program at each, and at the
 * returns where these are wanted. Source of the interface: Linux's include/uapi/linux/bpf.h,
 * uprobe_multi (6.6, sessions 6.13); before that one perf event a point.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probes/tracer_memory.h"

struct uprobes;

struct uprobe_point {
	enum call call;
	uint64_t offset; /* of the instruction, in the file; for those of CALLS_RETURNING the
			    return address is on top of the stack there */
	uint64_t cookie; /* bpf/shared/allocations.h */
};

/*
 * Attaches all points whose call has a program, or none. Any thread; it visits each process that
 * has the file mapped, so it may take long. `file_fd` is of the very file (its path may name
 * another one by now). Descriptors have a place each (elf/fd_budget.h): -EMFILE. Negative errno and
 * a sentence in `why`.
 *
 * A hit that began before may still run after uprobes_close(). Whoever ends with descriptors open
 * leaves nothing behind.
 */
int uprobes_open(struct uprobes **ret, int file_fd, const struct uprobe_point *points, size_t count,
		 const struct call_programs *programs, char *why, size_t why_bytes);

/* Detaches; may take long. NULL is nothing. */
void uprobes_close(struct uprobes *uprobes);
