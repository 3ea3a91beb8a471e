/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a Java VM (runtime/jvm) and a CPython (runtime/interpreter) have in common: each lies in a
 * file that a process has mapped, and the process is asked for what its walker and the readers of
 * its code have to know. Immutable once it is a target's; shared with processes that it forks,
 * dropped at an exec. References belong to the loop's thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "loop/worker.h"
#include "runtime/job_memory.h"
#include "symbol/symbol.h"

/* The first member of its kind's struct. */
struct runtime {
	unsigned refs;
	struct symbol_file *file; /* with a reference */
	uint64_t bias;		  /* where that lies: linked addresses plus this */
	/* 0: what its kind has is valid. -ETIMEDOUT: its memory hangs; else what its kind says, or
	 * the errno of reading it. */
	int error;
};

/* Gives a reference back. True: that was the last one, its file is given back as well. */
bool runtime_unref(struct runtime *runtime);

/* Whether it lies just there. False for NULL, as the next one is. */
bool runtime_is_at(const struct runtime *runtime, const struct symbol_file *file, uint64_t bias);

/* Whether a frame is code of the file that it is in. */
bool runtime_owns(const struct runtime *runtime, const struct code *code);

struct runtime_kind {
	size_t bytes; /* of its struct */
	/* Asks the process and fills the struct in, `error` too. On a worker: it may hang. */
	void (*ask)(pid_t pid, const struct process_memory *memory, struct runtime *runtime);
	void (*unref)(struct runtime *runtime);
};

/* Asks a process about its runtime: an urgent job, for its memory may hang. */
struct runtime_question {
	pid_t pid;
	struct job_memory memory; /* of it; taken over */
	uint64_t id;		  /* of the target that it is about */
	uint64_t whose;		  /* as a job's */
	const struct runtime_kind *kind;
	/* Its kind's struct with what is known before: the file (it gets references of its own),
	 * bias, what was found in the file. Copied; not there any more when it is answered. */
	const struct runtime *about;
	/* The answer: its one reference is handed over. `memory` is what was opened for it, for a
	 * target to keep; NULL: nothing may be known of it. */
	void (*done)(void *arg, const struct runtime_question *question, struct runtime *answer,
		     struct job_memory *memory);
	void *arg;
};

/* -ENOMEM: its memory was given back. */
int runtime_ask(struct worker *worker, const struct runtime_question *question);
