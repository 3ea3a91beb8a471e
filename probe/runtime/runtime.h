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
	uint64_t whose;		  /* the user of the process that was asked, as a job's */
	/* 0: the other fields of the kind's struct are valid. -ETIMEDOUT: reading the process's
	 * memory hangs. -EBUSY: there was no thread for the question, or computing took too long;
	 * or an errno of the kind, or of reading. */
	int error;
};

/* Drops a reference. Returns true for the last one: then the file's reference is dropped too, and
 * the caller frees the struct. */
bool runtime_unref(struct runtime *runtime);

/* Returns whether the runtime lies in this file, loaded at this bias; false for NULL. */
bool runtime_is_at(const struct runtime *runtime, const struct symbol_file *file, uint64_t bias);

/* Returns whether a frame's code lies in the runtime's file; false for NULL. */
bool runtime_owns(const struct runtime *runtime, const struct code *code);

/* A mapping of a file in which a runtime was found. All is borrowed. */
struct runtime_place {
	const void *found; /* by kind: struct cpython_file, struct hotspot_file; NULL: none */
	struct symbol_file *file;
	uint64_t bias;
};

/* The kinds that there are; a process may have several. The kernel's side walks the frames of
 * the first two. */
enum runtime_number { RUNTIME_PYTHON, RUNTIME_JAVA, RUNTIME_MADE, RUNTIMES };

struct runtime_kind {
	enum runtime_number number;
	const char *name; /* for the log */
	size_t bytes;	  /* size of the kind's struct, and in it, of what was found in the file: */
	size_t found_at, found_bytes;
	/*
	 * True: a program may map the file from its start and begin the runtime much later, which
	 * answers -EAGAIN until then. So it is asked by a timer, too, and without a last try.
	 */
	bool begins_late;
	uint64_t limit_ns; /* the job's time limit, if larger than the worker's; 0: none */
	/* Returns whether that is what is known already. */
	bool (*is_found)(const struct runtime *known, const void *found);
	/*
	 * Return what is known without an error, but not whole: may another question soon tell the
	 * rest; may one at any time later? NULL: no.
	 */
	bool (*is_incomplete)(const struct runtime *known);
	bool (*is_unfinished)(const struct runtime *known);
	/* Asks the process and fills in the struct, `error` too. On a worker: may hang. */
	void (*ask)(pid_t pid, const struct process_memory *memory, struct runtime *runtime);
	/* Takes over from what was known of the same place; NULL: nothing. Returns false if nothing
	 * has changed: what is known stays. On the loop's thread. */
	bool (*follow)(struct runtime *answer, struct runtime *known);
	void (*unref)(struct runtime *runtime);
};

extern const struct runtime_kind *const runtime_kinds[RUNTIMES];

/* Return and drop a reference to a runtime of that kind, which may be NULL. */
struct runtime *runtime_ref(struct runtime *runtime);
void runtime_release(const struct runtime_kind *kind, struct runtime *runtime);

/* Returns whether another question soon may have a better answer. */
bool runtime_is_passing(const struct runtime_kind *kind, const struct runtime *known);
/* Likewise, any time later. */
bool runtime_is_unfinished(const struct runtime_kind *kind, const struct runtime *known);
/* Returns whether an answer is an error, and another one about the same place was none. */
bool runtime_is_worse(const struct runtime *answer, const struct runtime *known);
/* Returns whether a place is the one that is known; `known` may be NULL. */
bool runtime_is_same(const struct runtime_kind *kind, const struct runtime *known,
		     const struct runtime_place *place);
/* Returns where a runtime that is known lies. */
struct runtime_place runtime_place_of(const struct runtime_kind *kind, const struct runtime *known);

/* A question to a process about its runtime. */
struct runtime_question {
	pid_t pid;
	struct job_memory memory; /* the process's memory; runtime_ask() takes it over */
	uint64_t id;		  /* the target that the question is about */
	uint64_t whose;		  /* the job's owner */
	const struct runtime_kind *kind;
	/* What is known already; copied, with a reference to the file. Not valid in done(). */
	struct runtime_place place;
	/* Takes over the answer, one reference. `memory` is the process's memory, opened, for a
	 * target to keep; NULL: the job was given up, and may still use the memory. */
	void (*done)(void *arg, const struct runtime_question *question, struct runtime *answer,
		     struct job_memory *memory);
	void *arg;
};

/* Asks a process about its runtime in a job of `worker`, since its memory may hang; calls done() on
 * the loop's thread. The question is copied. Returns 0, or -ENOMEM; takes over question->memory
 * also then. */
int runtime_ask(struct worker *worker, const struct runtime_question *question);
