/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A target's memory for a job that reads it (runtime/job_memory.h). What such a job has opened the
 * target keeps open, if there is a place for it. On the loop's thread.
 */
#pragma once

#include "runtime/job_memory.h"

struct target;

/* Fills `memory` for a job. `worker` closes what is held in the end. */
void target_memory_of(struct job_memory *memory, const struct target *target,
		      struct worker *worker);

/* The job has finished: the target keeps what it opened, if it is the same program still. */
void target_memory_keep(struct target *target, struct job_memory *memory);

/* Lets go what the target has; gives it to the same process under another name as well. */
void target_memory_drop(struct target *target);
void target_memory_share(struct target *target, const struct target *before);
