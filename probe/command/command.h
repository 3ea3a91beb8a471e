/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The commands of the program. Each command gets its own arguments, with its name as argv[0], and
 * returns the exit status of the program. Main thread only.
 */
#pragma once

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

/* Prints what is wrong with the arguments (`value` may be NULL); returns EXIT_USAGE. */
int usage_error(const char *what, const char *value);
