/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Job that reads functions from a target's file, on the foreign worker: it opens the file, finds
 * the debug file, resolves the functions and demangles their names, which a crafted symbol can make
 * long.
 *
 * The file may lie in a file system that hangs, so the job owns all that it touches.
 */
#pragma once

#include "loop/worker.h"
#include "elf/debugfile.h"
#include "elf/demangle.h"
#include "elf/native.h"
#include "file/open_request.h"

struct symbol_job {
	struct job job;

	/* the question */
	struct open_request opening;	   /* the reading's own; its path not NULL */
	const char *debugging_dir;	   /* borrowed; or NULL */
	struct debug_found debug;	   /* the known debug file, updated; the reading's own */
	struct native_function *functions; /* `offset` is the question; the reading's own */
	size_t count;

	/* The file's budget, as earlier readings left it; updated. */
	struct demangling demangling;

	_Atomic bool past_own; /* the file itself was opened and could be read */

	/* the answer, once finished; the opening holds the file if there is a place */
	int error; /* as open_request_open() and native_resolve() */
	struct native_file file;
	struct buf names; /* demangled */

	void (*done)(struct symbol_job *reading, bool finished);
	void (*free)(struct symbol_job *reading); /* frees the struct, but not its own parts */
};

/* Submits the reading as a job of opening.whose, and takes it over. */
void symbol_job_submit(struct symbol_job *reading, struct worker *worker);
