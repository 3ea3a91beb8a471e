/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A target's memory for a job that reads it: by the descriptor that the target has, else by one
 * that is opened at the first read and checked to be of the process and the program that were
 * examined (proc/memory.h). The target keeps that one from then on, if there is a place for it
 * (elf/held.h), else it is the job's alone. A program that the process execs is never read.
 */
#pragma once

#include "proc/memory.h"
#include "elf/held.h"

struct target;

/* Plain data that a job owns. */
struct target_memory {
	struct memory_id id;
	struct worker *worker; /* that closes what is held */
	uint64_t whose;	       /* the target's user, as a job's */
	struct held *held;     /* with a reference; NULL: it isn't open yet, or not held */
	int own;	       /* opened for the job alone, or -1 */
	int error;	       /* it can't be opened */
};

/* On the loop's thread. `worker` closes what is held in the end. */
void target_memory_of(struct target_memory *memory, const struct target *target,
		      struct worker *worker);

/* In the job. `memory` stays the caller's and has to stay where it is. */
struct process_memory target_memory_reader(struct target_memory *memory);

/* At the job's end: closes what is the job's alone. */
void target_memory_close(struct target_memory *memory);

/* On the loop's thread, when the job has finished: the target has it from now on. */
void target_memory_keep(struct target *target, struct target_memory *memory);

/* On any thread. */
void target_memory_done(struct target_memory *memory);

/* On the loop's thread: what the target had is let go; one of the same process under another name
 * gets it as well. */
void target_memory_drop(struct target *target);
void target_memory_share(struct target *target, const struct target *before);
