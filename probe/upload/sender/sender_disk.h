/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is to be done with bodies in the spool, one after the other, each in a job on a worker that
 * may hang. Never more than one job is submitted: a disk that hangs costs one thread. Then the disk
 * is out until that job has come back.
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
	uint64_t pause_ns;  /* until what could not be done for want of memory, or of a disk that
			     * answers, is tried again */

	/* An entry's task has ended: 0, negative errno, -ETIMEDOUT: given up, or not begun because
	 * the disk is out. `body`: what was loaded, handed over. Never called inside. */
	void (*ended)(void *arg, struct entry *entry, int result, struct body *body);
	/* What was there at the start; the list is borrowed. */
	void (*listed)(void *arg, int result, const struct spool_list *list);
	/* It is out, or it isn't any more. */
	void (*changed)(void *arg);
	void *arg;
};

/* -ENOMEM */
int disk_new(struct disk **ret, const struct disk_setup *setup);

/* When no job is reported any more. Entries are untouched. */
void disk_free(struct disk *disk);

/* Looks what is there, before all that is added later. */
void disk_list(struct disk *disk);

/* The task that the entry's state names: WRITING, LOADING, RETURNING, REMOVING. While the disk is
 * out only the last two are taken; they wait. */
void disk_add(struct disk *disk, struct entry *entry);

/* True: the entry's task hadn't begun, and won't. */
bool disk_take_back(struct disk *disk, struct entry *entry);

bool disk_is_out(const struct disk *disk);
bool disk_is_idle(const struct disk *disk); /* nothing to do */
