/* SPDX-License-Identifier: GPL-2.0-only */
/* Inside of the sender: sender.c (who calls), sender_keep.c (disk and memory), sender_send.c
 * (server), sender_close.c. */
#pragma once

#include "upload/http/auth.h"
#include "upload/http/http.h"
#include "upload/sender/sender.h"
#include "upload/sender/sender_backoff.h"
#include "upload/sender/sender_disk.h"
#include "upload/sender/sender_log.h"
#include "upload/sender/sender_queue.h"

#define MEMORY_BYTES_MAX  (8 << 20)  /* of bodies that can't be written */
#define WRITING_BYTES_MAX (32 << 20) /* of those on their way to the disk */

struct sender_end {
	void (*done)(void *arg); /* NULL: not asked for */
	void *arg;
	bool stopped; /* nothing is sent any more */
	bool ended;   /* done() is posted */
	uint64_t send_until_ns, write_until_ns;
	struct loop_timer timer;
	struct loop_call call;
};

struct sender {
	struct loop *loop;
	struct sender_times times;
	struct auth *auth;
	char *url;    /* the last one; NULL: none yet */
	bool on;      /* it is sent to */
	char *folder; /* of the spool; "" */
	uint64_t spool_bytes;
	int64_t period_ns;
	uint64_t spread_ns; /* of its options */
	uint16_t part;	    /* of it, of 65536: ours */

	struct queue queue;
	struct backoff backoff;
	struct disk *disk; /* NULL: nothing is kept on disk */
	struct http *http;
	struct loop_timer timer;
	uint64_t first_number, next_number; /* of keys */
	bool unwritable;		    /* the last write failed */
	struct sender_log log;
	struct sender_stats stats;
	struct sender_end end;
};

/* Sends what may be sent, drops what is too old, sets the timer: after each event. */
void sender_pump(struct sender *sender);

/* ---- sender_keep.c ---- */

void sender_lose(struct sender *sender, enum sender_loss cause, uint64_t bodies, const char *why);
bool sender_is_too_old(const struct sender *sender, int64_t until_ns);
/* To the disk, or where that can't be into memory, or nowhere. Its body is there, it isn't in the
 * queue. */
void sender_keep(struct sender *sender, struct entry *entry);
/* It is in memory, and goes to the disk. */
void sender_write(struct sender *sender, struct entry *entry);
/* It isn't to be sent any more, and no task or request has it. */
void sender_remove(struct sender *sender, struct entry *entry);
/* It was loaded or in flight and waits again. */
void sender_put_back(struct sender *sender, struct entry *entry);
/* The oldest go as long as the spool is too large by `bytes`. False: it still is. */
bool sender_make_room(struct sender *sender, uint64_t bytes);
/* Callbacks of the disk. */
void sender_ended(void *arg, struct entry *entry, int result, struct body *body);
void sender_listed(void *arg, int result, const struct spool_list *list);

/* ---- sender_send.c ---- */

/* Starts what may be sent; when more may be, if nothing happens until then. */
uint64_t sender_send(struct sender *sender, uint64_t now_ns);
/* It is loaded: sends it, if it is still its turn. */
void sender_loaded(struct sender *sender, struct entry *entry);

/* What is in flight waits again; the server may have it. */
void sender_take_back(struct sender *sender);

/* ---- sender_close.c ---- */

/* After each event, when it is closing. */
void sender_check_end(struct sender *sender);
