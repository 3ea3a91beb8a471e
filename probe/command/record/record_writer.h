/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes the files at the end of a recording: drains the last window, then renders and writes each
 * probe's profile. Loop thread only. */
#pragma once

#include "command/core.h"
#include "command/record/peak.h"
#include "command/record/record_file.h"
#include "command/record/record_options.h"

struct record_writer {
	/* the question */
	const struct record_options *options;
	const struct record_file *files; /* PROBE_COUNT, of options->probes */
	const struct core *core;
	const struct subscriber *subscriber;
	struct peak *peak;	 /* NULL: it isn't looked for */
	uint64_t took_ns;	 /* length of the recording */
	void (*done)(void *arg); /* called later, never inside record_writer_start() */
	void *arg;

	/* the answer */
	bool failed; /* a file could not be written; why was printed */

	int probe; /* private: the probe whose file is being written */
};

/* Starts writing. `writer` must live until done(). Prints a line on standard error for each file,
 * unless the option `quiet` is set. */
void record_writer_start(struct record_writer *writer);
