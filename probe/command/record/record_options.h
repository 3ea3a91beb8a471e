/* SPDX-License-Identifier: GPL-2.0-only */
/* The arguments of `stackprobe record`. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "output/format/output.h"
#include "profile/stack_detail.h"
#include "target/target.h"
#include "profile/view.h"

#define RECORD_PIDS_MAX 1024

struct record_options {
	struct process_id *ids; /* of -p */
	size_t ids_count;
	char **command; /* NULL, or its arguments */
	uint32_t probes;
	enum view view;	      /* of PROBE_MEM_GLIBC; others than VIEW_ALL: of processes only */
	uint64_t duration_ns; /* 0: until it is ended */
	uint64_t period_ns;
	const char *path; /* "-": standard output */
	bool path_given;  /* by -o */
	const struct output *output;
	struct stack_detail detail;
	bool quiet;
};

/* -1: go on; else the exit status, and why was said. */
int record_options_parse(struct record_options *options, int argc, char **argv);
void record_options_done(struct record_options *options);

/*
 * The file of one probe: the path as it was given, or, where several probes are recorded, with the
 * probe's name before the extension ("x.oncpu.svg"). -ENAMETOOLONG
 */
int record_options_path(const struct record_options *options, enum probe probe, char *path,
			size_t bytes);
