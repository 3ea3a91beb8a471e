/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sender: a queue of bodies that are sent to an HTTP server. Each body is sent until the server has
 * stored or refused it, or until it is too old.
 *
 * A body is written to disk first (upload/spool/spool.h); then the bodies of the oldest window are
 * sent first, four requests at a time. In memory are only the bodies that are being written or
 * sent, and up to 8 MiB of bodies that can't be written. sender_answer.h judges the answers;
 * sender_backoff.h says when a failing server is asked again. Loop thread only; nothing blocks, as
 * the disk is used in jobs (sender_disk.h).
 *
 * A body that the server may have stored is sent again only if the outcome of its request is
 * unknown. Each time that a body may have been stored once more is counted (`maybe_twice`), also if
 * an earlier daemon had sent the body.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/shared/named.h"
#include "base/why.h"
#include "loop/loop.h"
#include "loop/worker.h"
#include "upload/http/body.h"

struct sender;
struct upload_options;

/* Times; tests set other ones than these defaults. */
struct sender_times {
	uint64_t first_ns;	/* 1 s: the first wait after a failure */
	uint64_t most_ns;	/* 60 s: the longest wait */
	uint64_t row_most_ns;	/* 8 s: the longest wait while each body is answered by 500 */
	uint64_t told_most_ns;	/* 600 s: the longest wait by Retry-After */
	uint64_t age_ns;	/* 3590 s: age of a window's begin; servers refuse at 3600 s */
	uint64_t request_ns;	/* 30 s: limit of a whole request */
	uint64_t close_ns;	/* 3 s: limit of sending at the end, then of writing to disk */
	uint64_t disk_pause_ns; /* 10 s: until a disk that hung is tried again */
};

struct sender_setup {
	struct loop *loop;
	struct worker *foreign;
	const struct upload_options *options; /* copied */
	const struct sender_times *times;     /* NULL: the defaults */
	/* Gets a sentence if sender_new() fails because of the options; may be NULL. */
	struct why *why;
};

/* Makes a sender and starts to list the bodies on disk. The caller owns *ret; loop and worker are
 * borrowed until sender_free(). Returns 0, or a negative errno: -ENOMEM, or that of auth_read(). */
int sender_new(struct sender **ret, const struct sender_setup *setup);

/* Frees the sender; to be called after worker_stop() and loop_flush(), when no job can end any
 * more, and before loop_free(). Bodies in memory are lost: call sender_close() first. */
void sender_free(struct sender *sender);

/* Sets the server, a URL of server_url(). NULL: nothing is sent, the bodies wait and get old;
 * requests in flight may still be answered. Another server gets all bodies, also those in flight,
 * which the old server may have stored (counted in maybe_twice). */
void sender_set_server(struct sender *sender, const char *url);

/* Changes the options, except spool_dir and period_s, which stay as they were at the start. Returns
 * 0, or a negative errno with a sentence in `why`: then the old options stay. */
int sender_set_options(struct sender *sender, const struct upload_options *options,
		       struct why *why);

struct sender_body {
	struct body_texts texts; /* copied */
	int64_t until_ns;	 /* the window's end, CLOCK_REALTIME, ns */
	struct buf bytes;	 /* taken over; at least one byte */
};

/* Adds a body, which is written to disk and then sent. A body that can't be kept is counted. */
void sender_add(struct sender *sender, struct sender_body *body);

/* Ends sending: sends for at most 3 s, then writes what is left to disk for at most 3 s, then calls
 * done(arg), never inside sender_close(). Nothing is sent afterwards. */
void sender_close(struct sender *sender, void (*done)(void *arg), void *arg);

/* Counts and logs as lost the bodies that aren't on disk, and `more` bodies that were to be added.
 * For an end that doesn't wait for sender_close(). */
void sender_abandon(struct sender *sender, uint64_t more);

/* Why bodies were lost: with the name in GET and /metrics, and the words in the log. */
#define SENDER_LOSS_LIST(X)                                                                        \
	X(SENDER_TOO_OLD, "too_old", "no server took them for an hour")                            \
	/* more than spool_bytes: the oldest were removed */                                       \
	X(SENDER_NO_ROOM, "no_room", "the oldest, for upload.spool_mb is full")                    \
	/* the server refused the body for good */                                                 \
	X(SENDER_REFUSED, "refused", "the server refused them")                                    \
	/* larger than any server takes */                                                         \
	X(SENDER_TOO_LARGE, "too_large", "too large for a request")                                \
	/* could not be written, and the memory was full */                                        \
	X(SENDER_UNWRITABLE, "unwritable", "they can't be kept")                                   \
	/* the file was damaged or gone */                                                         \
	X(SENDER_UNREADABLE, "unreadable", "their files are damaged or gone")
enum sender_loss { SENDER_LOSS_LIST(NAMED_VALUE) SENDER_LOSSES };

struct sender_stats {
	uint64_t stored, stored_bytes; /* bodies that the server has stored, by its answer */
	uint64_t retries;	       /* requests with a body that was sent before */
	uint64_t maybe_twice;	       /* times that a body may have been stored once more */
	uint64_t lost[SENDER_LOSSES];
	size_t waiting; /* bodies that the server doesn't have yet */
	uint64_t waiting_bytes;
	int64_t last_stored_ns, oldest_waiting_ns; /* CLOCK_REALTIME; 0: none */
	bool failing;				   /* the server fails */
	char last_failure[512];			   /* "" before the first failure */
};

void sender_stats(const struct sender *sender, struct sender_stats *stats);

/* Rows of struct sender_stats (measure/measure.h). */
extern const struct measures sender_measures;

/* Counts and logs bodies that their maker could not hand over, as they were too large. */
void sender_count_loss(struct sender *sender, enum sender_loss cause, uint64_t bodies);
