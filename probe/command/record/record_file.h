/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A file that a recording ends in. It is the user's own path: any folder, an existing file is
 * replaced. It appears whole; that it can be written is known before the recording begins.
 *
 * A FIFO, a device or a terminal is written in place, where the user named it. A link that leads to
 * such a one is followed only where nobody else can have put it: in a folder of root's or of the
 * user's own that others may not write to. In /tmp a link of another's could lead to a disk.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct record_file {
	char path[4096]; /* as the user knows it; "-": standard output */
	int dir_fd;	 /* its folder, or -1 */
	int fd;		 /* -1, or what is written in place: standard output, a FIFO, a device */
};

/* `named`: the user wrote that path. Else only a regular file is replaced: -EEXIST for anything
 * else that is there. -ELOOP: a link that isn't followed. Negative errno, and nothing was made. */
int record_file_open(struct record_file *file, const char *path, bool named);
void record_file_close(struct record_file *file);

/* Negative errno; then a file that was there before is still as it was. */
int record_file_write(const struct record_file *file, const void *data, size_t bytes);
