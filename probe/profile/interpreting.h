/* SPDX-License-Identifier: GPL-2.0-only */
/* Asks a process about the CPython that it has mapped: an urgent job, for its memory may hang. */
#pragma once

#include <sys/types.h>

#include "base/worker.h"
#include "profile/interpreter.h"

struct interpreting {
	pid_t pid;
	uint64_t id; /* of the target that it is about */
	struct cpython_file found;
	struct symbol_file *file; /* gets one reference more */
	uint64_t bias;
	/* The answer: its one reference is handed over. NULL: no memory. */
	void (*done)(void *arg, const struct interpreting *question, struct interpreter *answer);
	void *arg;
};

/* -ENOMEM */
int interpreter_ask(struct worker *worker, const struct interpreting *question);
