/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The runtime of a process: what a Java VM (runtime/jvm) and a CPython (runtime/interpreter) have
 * in common. Each lies in a file that the process has mapped, and is asked for the layout that the
 * walker and the readers of its code need. Immutable once a target has it; shared with the
 * processes that the target forks, dropped at an exec. References are counted on the loop's thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "loop/worker.h"
#include "runtime/job_memory.h"
#include "symbol/symbol.h"

/* The first member of each kind's struct. */
struct runtime {
	unsigned refs;
	struct symbol_file *file; /* with a reference */
	uint64_t bias;		  /* where the file is loaded: addresses minus linked addresses */
	/* 0: the other fields of the kind's struct are valid. -ETIMEDOUT: reading the process's
	 * memory hangs; or an errno of the kind, or of reading. */
	int error;
};

/* Drops a reference. Returns true for the last one: then the file's reference is dropped too, and
 * the caller frees the struct. */
bool runtime_unref(struct runtime *runtime);

/* Returns whether the runtime lies in this file, loaded at this bias; false for NULL. */
bool runtime_is_at(const struct runtime *runtime, const struct symbol_file *file, uint64_t bias);

/* Returns whether a frame's code lies in the runtime's file; false for NULL. */
bool runtime_owns(const struct runtime *runtime, const struct code *code);

/* A kind of runtime: interpreter_kind, jvm_kind. */
struct runtime_kind {
	size_t bytes; /* size of the kind's struct */
	/* Asks the process and fills in the struct, `error` too. On a worker: may hang. */
	void (*ask)(pid_t pid, const struct process_memory *memory, struct runtime *runtime);
	void (*unref)(struct runtime *runtime);
};

/* A question to a process about its runtime. */
struct runtime_question {
	pid_t pid;
	struct job_memory memory; /* the process's memory; runtime_ask() takes it over */
	uint64_t id;		  /* the target that the question is about */
	uint64_t whose;		  /* the job's owner */
	const struct runtime_kind *kind;
	/* The kind's struct with what is known already: the file, bias, what was found in the file.
	 * runtime_ask() copies the struct and takes a reference to the file; NULL in done(). */
	const struct runtime *about;
	/* Takes over the answer, one reference. `memory` is the process's memory, opened, for a
	 * target to keep; NULL: the job hangs and still uses the memory. */
	void (*done)(void *arg, const struct runtime_question *question, struct runtime *answer,
		     struct job_memory *memory);
	void *arg;
};

/* Asks a process about its runtime in a job of `worker`, since its memory may hang; calls done() on
 * the loop's thread. The question is copied. Returns 0, or -ENOMEM; takes over question->memory
 * also then. */
int runtime_ask(struct worker *worker, const struct runtime_question *question);
