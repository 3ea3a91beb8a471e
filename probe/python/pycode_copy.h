/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A reader of a process's memory that first looks into a copy of a code object, which the BPF
 * program made at the sample (bpf/shared/code_copy.h). Bytes that the copy lacks (long names, long
 * tables) are read from the process, if the process still has the same code object.
 */
#pragma once

#include "bpf/shared/code_copy.h"
#include "python/pycode.h"

struct pycode_copy {
	const struct code_copy *copy;
	struct process_memory behind; /* the process's memory */
	bool read_on;		      /* something was read from `behind` */
	bool settled;		      /* from now on all is read from `behind` */
};

/* Returns whether a record of `bytes` bytes makes sense. */
bool code_copy_is_valid(const struct code_copy *copy, size_t bytes);

/* Returns a reader over `mine`, whose fields the caller has set. `mine` and the copy are borrowed
 * as long as the reader is used. */
struct process_memory pycode_memory_with(struct pycode_copy *mine);
