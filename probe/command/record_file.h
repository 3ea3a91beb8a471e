/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A file that a recording ends in. It is the user's own path: any folder, an existing file is
 * replaced. It appears whole; that it can be written is known before the recording begins.
 */
#pragma once

#include <stddef.h>

struct record_file {
	char path[4096]; /* as the user knows it; "-": standard output */
	int dir_fd;	 /* its folder, or -1 */
	int fd;		 /* -1, or what is written in place: standard output, a FIFO, a device */
};

/* Negative errno, and nothing was made. */
int record_file_open(struct record_file *file, const char *path);
void record_file_close(struct record_file *file);

/* Negative errno; then a file that was there before is still as it was. */
int record_file_write(const struct record_file *file, const void *data, size_t bytes);
