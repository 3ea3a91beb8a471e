/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Closing files that are a target's. close() waits for the file system (FUSE's flush), so the loop
 * must not do it: a job does, and may be given up.
 */
#pragma once

#include <stddef.h>

#include "base/worker.h"

/* Closes fds[0..count), negative ones excepted, on the worker's thread; `whose` as a job's. From
 * any thread; the array stays the caller's. Without memory for a job they are closed here and now.
 */
void close_later(struct worker *worker, uint64_t whose, const int *fds, size_t count);
