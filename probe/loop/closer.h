/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Closing files that are a target's. close() waits for the file system (FUSE's flush), so the loop
 * must not do it: a job does, and may be given up. One whose user has too many that hang waits
 * until one of them returns.
 */
#pragma once

#include <stddef.h>

#include "loop/worker.h"

/* Closes fds[0..count), negative ones excepted, on the worker's thread, and calls closed() there
 * after each (NULL: nobody is told); `whose` as a job's. From any thread; the array stays the
 * caller's. They stay open without memory for a job, which is counted as one refused, and when the
 * worker is being stopped: then they are left to the process's end. */
void close_later(struct worker *worker, uint64_t whose, const int *fds, size_t count,
		 void (*closed)(void));
