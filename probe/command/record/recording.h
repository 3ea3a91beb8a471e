/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A recording: from the first sample to the written files. One subscriber of an engine of its own;
 * it ends with what it records, after its time, or by a signal.
 */
#pragma once

#include "command/core.h"
#include "command/record/progress.h"
#include "command/record/record_file.h"
#include "command/record/record_options.h"
#include "command/record/record_writer.h"
#include "command/record/workload.h"

struct recording;

/* A process that was named by its pid. */
struct watched {
	struct recording *recording;
	struct loop_watch end; /* its pidfd */
	pid_t pid;
	bool ended;
};

struct recording {
	const struct record_options *options;
	struct record_file files[PROBE_COUNT]; /* of options->probes; opened by the caller */
	struct workload workload;	       /* started by the caller, if there is one */

	struct core core;
	struct subscriber *subscriber;
	struct loop_watch signals, exec, workload_end;
	struct loop_timer end, tick;
	struct watched *watched;
	size_t watched_count;
	struct progress progress;
	struct record_writer writer;
	uint64_t began_ns;
	uint64_t interrupted_ns; /* when the first signal came; 0: none did */
	bool execed;		 /* the command, or it could not */
	bool ending, written;
	bool terminated; /* the command got SIGTERM because the time was over */
	int failure;	 /* 0, or the exit status that says so; why was said */
};

/* Until all is written and the command, if there is one, has ended. Sets `failure`. */
void recording_run(struct recording *recording);
