/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * When a server may be asked again. It is well or it is failing; while it fails it is asked by one
 * request at a time, the next one after a time that doubles.
 *
 * It fails when it says so or can't be reached, or after BACKOFF_ROW bodies in a row that it didn't
 * take, for a reason that might have been theirs. What ends has to have begun after the last
 * failure, or it says nothing new: four requests that fail together are one failure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define BACKOFF_ROW 3

struct backoff_times {
	uint64_t first_ns;     /* the first wait */
	uint64_t most_ns;      /* the longest */
	uint64_t row_most_ns;  /* the longest after a row: the next body may be taken */
	uint64_t told_most_ns; /* the longest that a server may ask for */
};

struct backoff {
	struct backoff_times times;
	bool failing;
	unsigned row;
	unsigned failures;
	uint64_t failed_ns;	/* the last one */
	uint64_t not_before_ns; /* 0: at once */
	uint64_t random;
};

void backoff_init(struct backoff *backoff, const struct backoff_times *times);

/* Another server: nothing is known of it, and what was sent before `now_ns` tells nothing. */
void backoff_reset(struct backoff *backoff, uint64_t now_ns);

/* It took a body or refused it for good: it is well. `begun_ns`: when the request was sent. */
void backoff_answered(struct backoff *backoff, uint64_t begun_ns);

/* The server can't. `told_ns`: how long it asks to wait, or 0. */
void backoff_server_failed(struct backoff *backoff, uint64_t begun_ns, uint64_t now_ns,
			   uint64_t told_ns);

/* The server didn't take a body, which may be the body's fault. */
void backoff_body_failed(struct backoff *backoff, uint64_t begun_ns, uint64_t now_ns);

/* How long to wait after so many failures (1, 2, …): doubled each time, less up to a half, at
 * random. At least `told_ns`. */
uint64_t backoff_wait_ns(struct backoff *backoff, unsigned failures, uint64_t most_ns,
			 uint64_t told_ns);
