/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sends bodies to an HTTP server, each until the server has it, has refused it, or it is too old.
 *
 * A body goes to the disk first (upload/spool/spool.h), then the oldest window is sent first, four
 * requests at a time. In memory are those that are being written or sent, and up to 8 MiB that
 * can't be written. How answers are told apart: upload/sender/sender_answer.h; when a server that
 * fails is asked again: upload/sender/sender_backoff.h. All on the loop's thread, and never blocks:
 * what touches the disk is a job (upload/sender/sender_disk.h).
 *
 * Only a request whose outcome nobody knows is repeated though the server may have stored it; each
 * time that this may have stored a body once more is counted (`maybe_twice`), also where a daemon
 * before us had sent it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "loop/loop.h"
#include "loop/worker.h"
#include "upload/http/body.h"

struct sender;
struct upload_options;

/* Times, where they are others than the defaults: for tests. */
struct sender_times {
	uint64_t first_ns;	/* 1 s: the first wait after a failure */
	uint64_t most_ns;	/* 60 s: the longest */
	uint64_t row_most_ns;	/* 8 s: the longest while each body is answered by 500 */
	uint64_t told_most_ns;	/* 600 s: what Retry-After may ask for */
	uint64_t age_ns;	/* 3590 s: of a window's begin; the server refuses at 3600 s */
	uint64_t request_ns;	/* 30 s: for a whole request */
	uint64_t close_ns;	/* 3 s: for sending at the end, then as much for the disk */
	uint64_t disk_pause_ns; /* 10 s: until a disk that hung is looked at again */
};

struct sender_setup {
	struct loop *loop;
	struct worker *foreign;
	const struct upload_options *options; /* copied */
	const struct sender_times *times;     /* NULL: the defaults */
	/* Gets a sentence where sender_new() fails for the options; may be NULL. */
	char *why;
	size_t why_bytes;
};

/* What was left on disk is read at once, and sent when there is a server. -ENOMEM, or what reading
 * the secrets says (upload/http/auth.h). */
int sender_new(struct sender **ret, const struct sender_setup *setup);

/* When no job is reported any more: after worker_stop() and loop_flush(), before loop_free(). What
 * is in memory only is lost: sender_close() first. */
void sender_free(struct sender *sender);

/* Where to, as server_url() makes it; NULL: nowhere, what is there waits and gets old, and what is
 * in flight may still be answered. Another one: all goes there, also what is in flight, which the
 * old one may have as well (that is counted). */
void sender_set_server(struct sender *sender, const char *url);

/* Others from now on, but spool_dir and period_s, which stay as they were at the start. 0, or
 * negative errno and a sentence: then the old ones count. */
int sender_set_options(struct sender *sender, const struct upload_options *options, char *why,
		       size_t why_bytes);

struct sender_body {
	struct body_texts texts; /* copied */
	int64_t until_ns;	 /* the window's end, ns since 1970 by the real-time clock */
	struct buf bytes;	 /* taken over; at least one byte */
};

/* On disk first, then sent; never blocks. What can't be kept is counted. */
void sender_add(struct sender *sender, struct sender_body *body);

/* Bodies handed over are on disk, and what can be sent within 3 s is; then done(arg), never inside.
 * After 6 s whatever the disk does. Nothing is sent any more afterwards. */
void sender_close(struct sender *sender, void (*done)(void *arg), void *arg);

/* The end has come before that: what isn't on disk, and `more` bodies that were on their way here,
 * are lost; counted and logged. */
void sender_abandon(struct sender *sender, uint64_t more);

enum sender_loss {
	SENDER_TOO_OLD,
	SENDER_NO_ROOM,	   /* past spool_bytes; the oldest go first */
	SENDER_REFUSED,	   /* by the server, for good */
	SENDER_TOO_LARGE,  /* larger than any server takes */
	SENDER_UNWRITABLE, /* the disk doesn't take it, nor is there memory for it */
	SENDER_UNREADABLE, /* damaged or gone from the disk */
	SENDER_LOSSES
};

struct sender_stats {
	uint64_t stored, stored_bytes; /* what the server said that it has */
	uint64_t retries;	       /* requests with a body that was sent before */
	uint64_t maybe_twice;
	uint64_t lost[SENDER_LOSSES];
	size_t waiting; /* all that the server doesn't have yet */
	uint64_t waiting_bytes;
	int64_t last_stored_ns, oldest_waiting_ns; /* by the real-time clock; 0: none */
	bool failing;				   /* the server */
	char last_failure[512];			   /* "" before the first */
};

void sender_stats(const struct sender *sender, struct sender_stats *stats);

/* Of who makes bodies: too large. */
void sender_count_loss(struct sender *sender, enum sender_loss cause, uint64_t bodies);
