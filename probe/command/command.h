/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The commands of the program. Each command gets its own arguments, with its name as argv[0], and
 * returns the exit status of the program. Main thread only.
 */
#pragma once

#include <stdint.h>

enum { EXIT_FAILED = 1, EXIT_USAGE = 2 };

/* Statuses of `record` if the program to record could not be started, as shells have them. */
enum { EXIT_NOT_RUN = 126, EXIT_NOT_FOUND = 127 };

/* Runs the daemon (`stackprobe` without a command): serves HTTP until a signal ends it. */
int daemon_command(int argc, char **argv);

/* Records one profile, without HTTP. */
int record_command(int argc, char **argv);

/* Draws folded text as a picture. */
int render_command(int argc, char **argv);

/* Prints which probes run on this host, and why others don't. */
int doctor_command(int argc, char **argv);

/* Prints the heaviest functions of folded text. */
int report_command(int argc, char **argv);

/* Takes one look at the scheduler, without HTTP. */
int sched_command(int argc, char **argv);

/* Shows what processes cost, as they run. */
int top_command(int argc, char **argv);

/* Tells the command that runs, as errors name it: "stackprobe record". Borrowed. */
void usage_begin(const char *command);

/* Print what is wrong with the arguments (`value` may be NULL), and which help there is; or the
 * latter alone, where getopt() has said what is wrong. Return EXIT_USAGE. */
int usage_error(const char *what, const char *value);
int usage_hint(void);

/* Reads the number of functions of a table (--top). Returns 0, or EXIT_USAGE after printing why. */
int report_rows(const char *text, uint32_t *rows);
