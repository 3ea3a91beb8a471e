/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory of a target, kept open between the jobs that read it (runtime/job_memory.h), if there is a
 * place for the descriptor. Loop thread only.
 */
#pragma once

#include "runtime/job_memory.h"

struct target;

/* Fills in `memory` for a job. `worker` closes what is held in the end. */
void target_memory_of(struct job_memory *memory, const struct target *target,
		      struct worker *worker);

/* Keeps what a finished job opened, if the target still runs the same program. */
void target_memory_keep(struct target *target, struct job_memory *memory);

/* Drop what the target keeps open; share it with the same process under another name. */
void target_memory_drop(struct target *target);
void target_memory_share(struct target *target, const struct target *before);
