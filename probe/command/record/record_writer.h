/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes the files at the end of a recording, or with --every meanwhile, block by block: drains the
 * last window, then renders and writes each probe's profile. Loop thread only. */
#pragma once

#include "command/core.h"
#include "command/record/peak.h"
#include "command/record/progress.h"
#include "command/record/record_blocks.h"
#include "command/record/record_file.h"
#include "command/record/record_options.h"

struct record_writer {
	/* the question */
	const struct record_options *options;
	struct record_file *files; /* PROBE_COUNT, of options->probes */
	const struct core *core;
	struct subscriber *subscriber;
	struct progress *progress;  /* erased before something is printed */
	struct peak *peak;	    /* NULL: it isn't looked for */
	uint64_t began_ns, took_ns; /* begin and length of the recording */
	void (*done)(void *arg);    /* called later, never inside record_writer_start() */
	void *arg;

	/* the answer */
	bool failed; /* a file could not be written; why was printed */

	/* private */
	int probe; /* the probe whose file is being written */
	bool is_writing;
	bool ends;	 /* what is written last was asked for … */
	bool is_last;	 /* … and is being written */
	uint64_t due_ns; /* end of the interval */
	struct loop_timer interval;
	struct record_blocks blocks[PROBE_COUNT];
};

/*
 * Begins to write a block of each interval of options->every_ns, until record_writer_start() asks
 * for the last one; done() comes before that where a block can't be written. record_writer_done()
 * frees what the blocks have.
 */
void record_writer_repeat(struct record_writer *writer);
void record_writer_done(struct record_writer *writer);

/* Starts writing. `writer` must live until done(). Prints a line on standard error for each file,
 * unless the option `quiet` is set. */
void record_writer_start(struct record_writer *writer);
