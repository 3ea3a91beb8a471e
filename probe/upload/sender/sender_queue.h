/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The bodies that a server doesn't have yet, oldest window first. Each is in exactly one state:
 *
 *	WRITING    in memory, on its way to the disk
 *	WAITING    on disk; in memory where it can't be written
 *	LOADING    on disk; being marked as sent, then read
 *	FLYING     in memory, in a request
 *	RETURNING  on disk; its mark is being taken back
 *	REMOVING   on disk, being removed; it isn't in the queue any more
 *
 *	(found)    -> WAITING    left by a daemon before us
 *	           -> RETURNING  and that was sending it again
 *	WRITING    -> WAITING    written, or not, but there is room in memory
 *	           -> gone       no room anywhere
 *	WAITING    -> LOADING    its turn, on disk
 *	           -> FLYING     its turn, in memory
 *	           -> REMOVING   too old, no room; gone, in memory
 *	           -> WRITING    in memory, once more when all ends
 *	LOADING    -> FLYING     read
 *	           -> RETURNING  it isn't its turn any more
 *	           -> WAITING    can't be read now
 *	           -> gone       damaged, or not there
 *	FLYING     -> REMOVING   stored, refused; gone, in memory
 *	           -> RETURNING  again, later, and it is marked otherwise than it was
 *	           -> WAITING    again, later
 *	RETURNING  -> WAITING
 *	REMOVING   -> gone
 *
 * The disk's task for a body (sender_disk.h) is told by its state, so there is never more than one.
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
	uint64_t bytes; /* of its file */
	enum body_state state;
	bool on_disk;
	bool maybe_stored; /* by a request whose outcome nobody knows */
	bool again;	   /* it is marked as sent again (.again) */
	bool tried;	   /* it has been sent before */
	unsigned failures; /* requests that failed, perhaps by its fault */
	uint64_t not_before_ns, begun_ns;
	struct body *body;	/* while it is in memory */
	struct http_call *call; /* while it is in flight */

	struct entry *older, *newer; /* in the queue */
	struct entry *next_task;     /* the disk's */
};

struct queue {
	struct entry *oldest, *newest;
	size_t count, states[BODY_STATES];
	uint64_t bytes;	       /* of all */
	uint64_t disk_bytes;   /* of those on disk or on their way to it */
	uint64_t memory_bytes; /* of those that wait in memory, in flight or not */
	uint64_t writing_bytes;
};

/* At its place by age. Its key, bytes, state and on_disk are set. */
void queue_add(struct queue *queue, struct entry *entry);
void queue_remove(struct queue *queue, struct entry *entry);

/* Changes what an entry of the queue is. */
void queue_set(struct queue *queue, struct entry *entry, enum body_state state, bool on_disk);

struct queue_wish {
	uint64_t now_ns;
	bool memory_only; /* the disk can't be asked */
	bool least_tried; /* of those that failed least often; else the oldest */
};

/* Who may be sent next; NULL: nobody now, and from `from_ns` on somebody may (UINT64_MAX: nobody).
 */
struct entry *queue_choose(const struct queue *queue, const struct queue_wish *wish,
			   uint64_t *from_ns);
