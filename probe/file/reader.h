/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads functions from a target's file, on the foreign worker: opens the file, finds its debug file
 * and resolves; names are demangled, which a crafted symbol can make long.
 *
 * The file may lie in a file system that hangs: the job owns all it touches.
 */
#pragma once

#include "loop/worker.h"
#include "elf/debugfile.h"
#include "elf/demangle.h"
#include "elf/native.h"
#include "file/opening.h"

struct reading {
	struct job job;

	/* the question */
	struct opening opening;		   /* the reading's own; its path not NULL */
	const char *debugging_dir;	   /* or NULL; the owner's */
	struct debug_found debug;	   /* what is known of it; the reading's own */
	struct native_function *functions; /* `offset` is the question; the reading's own */
	size_t count;

	/* Of what was found of the file's symbols before; changes. */
	struct demangling demangling;

	_Atomic bool past_own; /* it has the file itself, and has read of it */

	/* the answer, once finished; the file is held open if there is room */
	int error; /* as opening_open() and native_resolve() */
	struct native_file file;
	struct buf names; /* as people read them */

	void (*done)(struct reading *reading, bool finished);
	void (*free)(struct reading *reading); /* frees the struct, after its own parts were */
};

/* Takes over the reading. */
void reading_submit(struct reading *reading, struct worker *worker);
