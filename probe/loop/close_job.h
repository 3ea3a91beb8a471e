/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Closes files of targets in jobs of a worker. close() waits for the file system (FUSE's flush), so
 * the loop must not call it; a job that hangs in it is given up. The job is never refused: if too
 * many jobs of its user hang, it waits until one of them returns.
 */
#pragma once

#include <stddef.h>

#include "loop/worker.h"

/* Takes over fds[0..count) and closes those that aren't negative, on the worker's thread, where it
 * calls closed() after each (NULL: no call). `whose` is the job's. Any thread. The array is copied.
 * If there is no memory for the job, the descriptors stay open and a refused job is counted; if the
 * worker is being stopped, they stay open until the process ends. */
void close_later(struct worker *worker, uint64_t whose, const int *fds, size_t count,
		 void (*closed)(void));
