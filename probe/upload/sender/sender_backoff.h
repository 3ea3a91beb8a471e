/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Exponential back-off: says when a server may be asked again. The server is well or failing; a
 * failing server gets one request at a time, the next after a wait that doubles.
 *
 * The server fails when it says so or can't be reached, or when it didn't take BACKOFF_ROW bodies
 * in a row for a reason that may be the bodies' fault. A request counts only if it was sent after
 * the last failure: four requests that fail together are one failure. Times are CLOCK_MONOTONIC,
 * ns.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define BACKOFF_ROW 3

struct backoff_times {
	uint64_t first_ns;     /* the first wait */
	uint64_t most_ns;      /* the longest wait */
	uint64_t row_most_ns;  /* the longest wait after a row: the next body may be taken */
	uint64_t told_most_ns; /* the longest wait that a server may ask for */
};

struct backoff {
	struct backoff_times times;
	bool failing;
	unsigned row;		/* bodies in a row that the server didn't take */
	unsigned failures;	/* failures in a row */
	uint64_t failed_ns;	/* the last failure, or backoff_reset() */
	uint64_t not_before_ns; /* when the server may be asked; 0: at once */
	uint64_t random;	/* state of the generator */
};

void backoff_init(struct backoff *backoff, const struct backoff_times *times);

/* Forgets the server, as another one is used; requests sent before `now_ns` don't count. */
void backoff_reset(struct backoff *backoff, uint64_t now_ns);

/* Notes that the server took a body or refused it for good: the server is well. `begun_ns`: when
 * the request was sent. */
void backoff_answered(struct backoff *backoff, uint64_t begun_ns);

/* Notes a failure of the server. `told_ns`: how long the server asks to wait, or 0. */
void backoff_server_failed(struct backoff *backoff, uint64_t begun_ns, uint64_t now_ns,
			   uint64_t told_ns);

/* Notes that the server didn't take a body, perhaps by the body's fault. */
void backoff_body_failed(struct backoff *backoff, uint64_t begun_ns, uint64_t now_ns);

/* Returns how long to wait after a number of failures (1, 2, …): first_ns, doubled each time, at
 * most `most_ns`, less a random part up to a half; at least `told_ns` (cut to told_most_ns). */
uint64_t backoff_wait_ns(struct backoff *backoff, unsigned failures, uint64_t most_ns,
			 uint64_t told_ns);
