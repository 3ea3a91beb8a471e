/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Queue and state machine of the bodies that a server doesn't have yet, oldest window first. Each
 * body is in exactly one state:
 *
 *	WRITING    in memory, being written to disk
 *	WAITING    on disk; in memory if it can't be written
 *	LOADING    on disk; being marked as sent, then read
 *	FLYING     in memory, in a request
 *	RETURNING  on disk; the mark is being taken back
 *	REMOVING   on disk, being removed; not in the queue any more
 *
 *	(found)    -> WAITING    left on disk by an earlier daemon
 *	           -> RETURNING  left while it was sent a second time
 *	WRITING    -> WAITING    written; or not written, with room in memory
 *	           -> gone       not written, no room in memory; no room on disk
 *	WAITING    -> LOADING    its turn, on disk
 *	           -> FLYING     its turn, in memory
 *	           -> REMOVING   too old, no room (in memory: gone)
 *	           -> WRITING    in memory, tried again when the sender closes
 *	LOADING    -> FLYING     read
 *	           -> RETURNING  not its turn any more
 *	           -> WAITING    can't be read now
 *	           -> gone       damaged or missing
 *	FLYING     -> REMOVING   stored or refused (in memory: gone)
 *	           -> RETURNING  to be sent again later, its mark has to change
 *	           -> WAITING    to be sent again later, its mark is right
 *	RETURNING  -> WAITING
 *	REMOVING   -> gone
 *
 * The state of a body names its task for the disk (sender_disk.h), so there is at most one task.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "upload/spool/spool.h"

struct http_call;
struct sender;

enum body_state {
	BODY_WRITING,
	BODY_WAITING,
	BODY_LOADING,
	BODY_FLYING,
	BODY_RETURNING,
	BODY_REMOVING,
	BODY_STATES
};

struct entry {
	struct sender *sender;
	struct spool_key key;
	uint64_t bytes; /* of the body's file */
	enum body_state state;
	bool on_disk;
	bool maybe_stored; /* a request may have stored the body */
	bool again;	   /* the file is marked .again */
	bool tried;	   /* the body has been sent before */
	unsigned failures; /* requests or reads that failed */
	/* When the body may be sent (0: now), when its last request began; CLOCK_MONOTONIC. */
	uint64_t not_before_ns, begun_ns;
	struct body *body;	/* NULL: only on disk */
	struct http_call *call; /* while FLYING */

	struct entry *older, *newer; /* neighbours in the queue */
	struct entry *next_task;     /* list of sender_disk.c */
};

struct queue {
	struct entry *oldest, *newest;
	size_t count, states[BODY_STATES]; /* entries; entries by state */
	uint64_t bytes;			   /* of all entries */
	uint64_t disk_bytes;		   /* of entries on disk or WRITING */
	uint64_t memory_bytes;		   /* of all other entries */
	uint64_t writing_bytes;		   /* of entries that are WRITING */
};

/* Adds an entry at its place by age. Its key, bytes, state and on_disk are set. */
void queue_add(struct queue *queue, struct entry *entry);
void queue_remove(struct queue *queue, struct entry *entry);

/* Changes the state of an entry in the queue. */
void queue_set(struct queue *queue, struct entry *entry, enum body_state state, bool on_disk);

struct queue_wish {
	uint64_t now_ns;
	bool memory_only; /* only entries in memory: the disk can't be used */
	bool least_tried; /* the oldest of those with the fewest failures; else the oldest */
};

/* Returns the entry to be sent next, or NULL; then *from_ns is when there may be one, UINT64_MAX:
 * never. */
struct entry *queue_choose(const struct queue *queue, const struct queue_wish *wish,
			   uint64_t *from_ns);
