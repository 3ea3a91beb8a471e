/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The commands of the program. Each takes its own arguments, its name being argv[0], and returns
 * the exit status of the program.
 */
#pragma once

enum { EXIT_FAILED = 1, EXIT_USAGE = 2 };

/* Of a command that was to be started, as shells have it. */
enum { EXIT_NOT_RUN = 126, EXIT_NOT_FOUND = 127 };

/* `stackprobe` without a command: what HTTP asks for, until a signal ends it. */
int daemon_command(int argc, char **argv);

/* One profile without HTTP. */
int record_command(int argc, char **argv);

/* Folded text to a picture. */
int render_command(int argc, char **argv);

/* What can be seen here, and why not. */
int doctor_command(int argc, char **argv);

/* Says what is wrong with the arguments (`value` may be NULL); returns EXIT_USAGE. */
int usage_error(const char *what, const char *value);
