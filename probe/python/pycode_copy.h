/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A process's memory with a code object that the kernel's side copied at the sample
 * (bpf/shared/code_copy.h) in front of it: what the copy has is taken from there, and the rest
 * (long names, long tables) read from the process, if it still has the same code object.
 */
#pragma once

#include "bpf/shared/code_copy.h"
#include "python/pycode.h"

struct pycode_copy {
	const struct code_copy *copy;
	struct process_memory behind;
	bool read_on; /* something was read from behind */
	bool settled; /* from now on all is */
};

/* Whether a record of so many bytes makes sense. */
bool code_copy_is_valid(const struct code_copy *copy, size_t bytes);

/* Of the copy, which the caller keeps, as all of `mine`. */
struct process_memory pycode_memory_with(struct pycode_copy *mine);
