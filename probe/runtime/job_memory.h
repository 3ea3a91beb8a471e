/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process's memory for a job that reads it: by a descriptor that is held open already, else by
 * one that is opened at the first read and checked to be of the process and the program that were
 * examined (proc/process_memory.h). A program that the process execs is never read.
 */
#pragma once

#include "elf/fd_budget.h"
#include "proc/process_memory.h"

/* Plain data that a job owns. */
struct job_memory {
	struct process_memory_id id;
	struct worker *worker; /* closes what is held in the end */
	uint64_t whose;	       /* the target's user, as a job's */
	struct held_fd *held;  /* with a reference; NULL: it isn't open yet, or not held */
	int own;	       /* opened for the job alone, or -1 */
	int error;	       /* the memory can't be opened */
};

/* Returns a reader for the worker that runs the job. It refers to `memory`. */
struct process_memory job_memory_reader(struct job_memory *memory);

/* Closes what is the job's alone. For the job's end, on its worker. */
void job_memory_close(struct job_memory *memory);

/* Gives all back. Any thread. */
void job_memory_done(struct job_memory *memory);

/*
 * Takes the held descriptor out of a job that has finished, for who keeps it open: the caller's to
 * give back by job_memory_forget(). NULL: there is none. Of all places for descriptors a part may
 * be kept so, for files, which can't be opened again once their process has ended, need them more.
 */
struct held_fd *job_memory_keep(struct job_memory *memory);

/* Another reference to what is kept, to be given back in the same way. NULL for NULL. */
struct held_fd *job_memory_share(struct held_fd *kept);
void job_memory_forget(struct held_fd *kept);
