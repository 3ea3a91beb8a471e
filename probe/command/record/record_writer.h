/* SPDX-License-Identifier: GPL-2.0-only */
/* The end of a recording: reads what was sampled last, and writes each probe's file. */
#pragma once

#include "command/core.h"
#include "command/record/record_file.h"
#include "command/record/record_options.h"

struct record_writer {
	/* the question */
	const struct record_options *options;
	const struct record_file *files; /* PROBE_COUNT, of options->probes */
	const struct core *core;
	const struct subscriber *subscriber;
	uint64_t took_ns;	 /* the recording */
	void (*done)(void *arg); /* later, never inside record_writer_start() */
	void *arg;

	/* the answer */
	bool failed; /* why was said */

	int probe; /* its own: whose file is being written */
};

/* `writer` must live until done(). What was written is said on standard error, unless it is to be
 * quiet. */
void record_writer_start(struct record_writer *writer);
