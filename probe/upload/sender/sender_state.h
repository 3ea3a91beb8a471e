/* SPDX-License-Identifier: GPL-2.0-or-later */
/* State of the sender, private to sender.c (doors), sender_keep.c (disk and memory), sender_send.c
 * (requests) and sender_close.c. */
#pragma once

#include "upload/http/auth.h"
#include "upload/http/http.h"
#include "upload/sender/sender.h"
#include "upload/sender/sender_backoff.h"
#include "upload/sender/sender_disk.h"
#include "upload/sender/sender_log.h"
#include "upload/sender/sender_queue.h"

#define MEMORY_BYTES_MAX  (8 << 20)  /* bytes of bodies that can't be written */
#define WRITING_BYTES_MAX (32 << 20) /* bytes of bodies that are being written */

/* The state of sender_close(). */
struct sender_end {
	void (*done)(void *arg); /* NULL: sender_close() wasn't called */
	void *arg;
	bool stopped;				/* nothing is sent any more */
	bool ended;				/* done() is posted */
	uint64_t send_until_ns, write_until_ns; /* limits of the two phases */
	struct loop_timer timer;
	struct loop_call call;
};

struct sender {
	struct loop *loop;
	struct sender_times times;
	struct auth *auth;
	char *url;    /* the last server; NULL: none yet */
	bool on;      /* there is a server now */
	char *folder; /* of the spool; "": nothing is kept on disk */
	uint64_t spool_bytes;
	int64_t period_ns;
	uint64_t spread_ns; /* options' spread_s */
	uint16_t part;	    /* our part of the spread, in 1/65536 */

	struct queue queue;
	struct backoff backoff;
	struct disk *disk; /* NULL: nothing is kept on disk */
	struct http *http;
	struct loop_timer timer;
	uint64_t first_number, next_number; /* numbers of this daemon's keys */
	bool unwritable;		    /* the last write failed, and that was logged */
	struct sender_log log;
	struct sender_stats stats;
	struct sender_end end;
};

/* Drops bodies that are too old, sends what may be sent, sets the timer. Called after each
 * event. */
void sender_pump(struct sender *sender);

/* ---- sender_keep.c ---- */

/* Counts and logs lost bodies. */
void sender_lose(struct sender *sender, enum sender_loss cause, uint64_t bodies, const char *why);
bool sender_is_too_old(const struct sender *sender, int64_t until_ns);
/* Takes over a new entry with its body: starts to write it to disk, or keeps it in memory, or
 * counts it as lost. */
void sender_keep(struct sender *sender, struct entry *entry);
/* Starts to write an entry that is WAITING in memory. */
void sender_write(struct sender *sender, struct entry *entry);
/* Removes an entry for good. No task and no request has it. */
void sender_remove(struct sender *sender, struct entry *entry);
/* Puts a loaded entry, or one whose request has ended, back to WAITING. */
void sender_put_back(struct sender *sender, struct entry *entry);
/* Drops the oldest entries until `bytes` more fit into the spool. Returns false if they don't. */
bool sender_make_room(struct sender *sender, uint64_t bytes);
/* Callbacks of sender_disk.h. */
void sender_ended(void *arg, struct entry *entry, int result, struct body *body);
void sender_listed(void *arg, int result, const struct spool_list *list);

/* ---- sender_send.c ---- */

/* Starts the requests that may start. Returns when another may, if nothing happens until then;
 * UINT64_MAX: never. */
uint64_t sender_send(struct sender *sender, uint64_t now_ns);
/* Sends an entry that has been loaded, or puts it back if it is no longer its turn. */
void sender_loaded(struct sender *sender, struct entry *entry);

/* Cancels all requests; their entries are put back, and the server may have them. */
void sender_take_back(struct sender *sender);

/* ---- sender_close.c ---- */

/* Goes on with sender_close(), if it was called. Called after each event. */
void sender_check_end(struct sender *sender);
