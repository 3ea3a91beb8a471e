/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recording, from the first sample to the written files: one subscriber of an engine of its own.
 * A recording ends with its command or its processes, after its duration, or by a signal. Loop
 * thread only.
 */
#pragma once

#include "command/core.h"
#include "command/record/progress.h"
#include "command/record/record_file.h"
#include "command/record/record_options.h"
#include "command/record/record_writer.h"
#include "command/record/workload.h"
#include "pressure/pressure.h"

struct recording;

/* A process of -p. */
struct watched_process {
	struct recording *recording;
	struct loop_watch end; /* the pidfd; fd -1: ended before it was opened */
	pid_t pid;
	bool ended;
};

struct recording {
	const struct record_options *options;
	struct record_file files[PROBE_COUNT]; /* the caller opens those of options->probes */
	struct workload workload;	       /* the caller starts it, if there is a command */

	struct core core;
	struct pressure *pressure; /* NULL: it waits for none, or that came */
	struct subscriber *subscriber;
	struct loop_watch signals, exec, workload_end;
	struct loop_timer end, tick;
	struct watched_process *watched;
	size_t watched_count;
	struct progress progress;
	struct peak peak; /* looked for if the options say so */
	struct record_writer writer;
	uint64_t began_ns;
	uint64_t interrupted_ns; /* when the last signal came; 0: none did */
	bool execed;		 /* the command has execed, or failed to */
	bool ending, written;	 /* the files are being written; are written, or can't be */
	bool terminated;	 /* the command got SIGTERM at the end of the duration */
	int failure;		 /* exit status of a failure, whose cause was printed; 0: none */
};

/* Runs the recording until all is written and the command, if there is one, has ended. Sets
 * `failure`. */
void recording_run(struct recording *recording);
