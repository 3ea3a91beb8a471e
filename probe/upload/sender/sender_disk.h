/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sender's queue of tasks for the spool. Each task is a job on the foreign worker, as a disk
 * may hang; at most one job is submitted, so a disk that hangs costs one thread. When a job hangs,
 * the disk is *out* until all its jobs have come back. Loop thread only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "loop/worker.h"
#include "upload/sender/sender_queue.h"

struct disk;

struct disk_setup {
	struct loop *loop;
	struct worker *foreign;
	const char *folder; /* copied */
	uint64_t pause_ns;  /* wait before another try, if the disk was out or memory lacked */

	/* The task of an entry has ended. `result`: 0, or a negative errno; -ETIMEDOUT: it was
	 * given up, or not begun because the disk is out. The callee owns `body`, the body loaded,
	 * or NULL. Never called inside disk_add(). */
	void (*ended)(void *arg, struct entry *entry, int result, struct body *body);
	/* disk_list() has ended; `list` is borrowed. */
	void (*listed)(void *arg, int result, const struct spool_list *list);
	/* disk_is_out() has changed. */
	void (*changed)(void *arg);
	void *arg;
};

/* Makes the queue; the caller owns *ret. Returns 0, or -ENOMEM. */
int disk_new(struct disk **ret, const struct disk_setup *setup);

/* Frees the queue, when no job can end any more, and the entries that are REMOVING; others aren't
 * touched. */
void disk_free(struct disk *disk);

/* Lists the spool before all other tasks; then calls listed(). */
void disk_list(struct disk *disk);

/* Adds the task that the entry's state names: WRITING, LOADING, RETURNING or REMOVING. While the
 * disk is out, only the last two may be added; they wait. */
void disk_add(struct disk *disk, struct entry *entry);

/* Takes back the task of an entry; false: the task has begun, or there is none. */
bool disk_take_back(struct disk *disk, struct entry *entry);

bool disk_is_out(const struct disk *disk);

/* Returns whether no task runs or waits. */
bool disk_is_idle(const struct disk *disk);
