/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parser of the arguments of `stackprobe record`. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "command/input_text.h"
#include "output/format/output.h"
#include "pressure/pressure_text.h"
#include "profile/stack_choice.h"
#include "profile/stack_detail.h"
#include "command/record/record_wishes.h"
#include "select/spec.h"
#include "target/target.h"
#include "profile/view.h"

#define RECORD_PIDS_MAX 1024 /* or threads */

struct record_options {
	struct process_id *ids; /* processes of -p */
	size_t ids_count;
	pid_t *tids; /* threads of -t; `ids` are their processes */
	size_t tids_count;
	char **command;	       /* argv of the command, borrowed; NULL: none */
	uint32_t probes;       /* bit set of enum probe */
	const char *view_name; /* borrowed; NULL: none was given */
	enum view view;	       /* that view, of a probe that is recorded and has it */
	bool peak;	       /* VIEW_INUSE when it was largest, not at the end */
	uint64_t duration_ns;  /* 0: no limit */
	uint64_t every_ns;     /* a block each so long; 0: one profile at the end */
	bool waits;	       /* the recording begins when the trigger fires */
	struct pressure_text trigger;
	uint64_t period_ns;	     /* sampling period */
	struct record_wishes wishes; /* what is said in the words of a PUT … */
	struct spec spec;	     /* … and what follows: snoopers, values of probes' params */
	struct params named;	     /* with the events that -e names, and nothing else */
	bool max_overhead_given;     /* else the default of the daemon counts */
	const char *path;	     /* "-": standard output */
	bool path_given;	     /* -o was given */
	bool writes_file;	     /* not for --top alone */
	const char *before;	     /* file that the picture compares with; NULL: none */
	struct input_text before_text; /* its folded text */
	bool normalize;		       /* that text is scaled to this profile's total */
	uint32_t top;		       /* functions that are printed; 0: none */
	bool header;		       /* of folded text */
	const struct output *output;
	struct stack_wish stacks_wish; /* which stacks, by their values … */
	struct stack_choice stacks;    /* … and what follows for this output */
	struct stack_detail detail;
	bool detail_given; /* --frame-detail was given */
	bool quiet;
};

/* Parses the arguments, and finds the processes of -p and -t. Returns -1 to go on, or the exit
 * status after printing why. record_options_done() is to be called in any case. */
int record_options_parse(struct record_options *options, int argc, char **argv);
void record_options_done(struct record_options *options);

/*
 * Makes the path of one probe's file: the path given; if several probes are recorded, with the
 * probe's name before the extension ("x.oncpu.svg"). Returns 0, or -ENAMETOOLONG.
 */
int record_options_path(const struct record_options *options, enum probe probe, char *path,
			size_t bytes);
