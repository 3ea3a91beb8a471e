/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options --pid and --tid: processes and threads by their numbers. All return GO_ON, or the
 * exit status after printing why. */
#pragma once

#include "command/record/record_options.h"

/* Adds the process, or thread, of that number. */
int record_processes_pid(struct record_options *options, char *part);
int record_processes_tid(struct record_options *options, char *part);

/* Finds the processes, and those of the threads, when all arguments are right. */
int record_processes_find(struct record_options *options);
