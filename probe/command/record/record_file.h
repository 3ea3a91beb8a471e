/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An output file of a recording. The user chooses the path, in any folder; an existing file is
 * replaced. The file appears whole. Opening checks that the file can be written, before the
 * recording begins.
 *
 * A FIFO, a device or a terminal is written in place, if the user named it. A symbolic link to one
 * is followed only if nobody else can have made the link: in a folder that belongs to root or to
 * the user and that others may not write to. In /tmp another user's link could lead to a disk.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct record_file {
	char path[4096]; /* as the user wrote it; "-": standard output */
	int dir_fd;	 /* the folder; -1: written in place */
	int fd; /* standard output, a FIFO, a device, or what is appended to; -1: a regular file */
};

/* Opens the folder, or the file that is written in place. `named`: the user wrote exactly this
 * path; else only a regular file may be replaced. Makes no file. Returns 0, or a negative errno:
 * -EEXIST if there is no regular file at a path that isn't `named`; -ELOOP for a link that isn't
 * followed; -ENAMETOOLONG; others. */
int record_file_open(struct record_file *file, const char *path, bool named);
void record_file_close(struct record_file *file);

/* Has a write to a pipe or a terminal take what there is room for, and not wait. (It is opened once
 * more: others have the description of standard output, too.) If that isn't possible all stays. */
void record_file_dont_wait(struct record_file *file);

/* Writes the file. Returns 0, or a negative errno; then an existing regular file is unchanged. */
int record_file_write(const struct record_file *file, const void *data, size_t bytes);

/* Writes the begin of the file, which appears whole with that, or what comes behind. Returns 0, or
 * a negative errno; then an existing regular file is unchanged, or has what was written before. */
int record_file_append(struct record_file *file, const void *data, size_t bytes);
