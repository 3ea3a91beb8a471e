/* SPDX-License-Identifier: GPL-2.0-only */
/* An answer over HTTP, before it is sent. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/buf.h"

/* An answer that comes bit by bit, as long as the client listens. On the loop's thread. */
struct stream {
	/* Puts up to `bytes` into `to`; how many. 0: there are none now, wake(arg) is called when
	 * there are; negative: that was all. */
	ssize_t (*read)(struct stream *stream, char *to, size_t bytes);
	/* Nobody reads it any more. */
	void (*free)(struct stream *stream);
	void (*wake)(void *arg); /* the server's, as `arg` is; NULL until it reads */
	void *arg;
};

/* An answer; one that isn't ready yet has status 0. */
struct answer {
	unsigned status;	  /* of HTTP */
	unsigned later;		  /* what the status will be, where only that is waited for */
	const char *content_type; /* static */
	const char *allow;	  /* of a 405; static, else NULL */
	bool wants_token;	  /* of a 401 */
	const char *retry_after;  /* s, of a 429; static, else NULL */
	struct buf body;
	struct stream *stream; /* instead of the body */
	/* While it isn't ready: the client has gone, and it may be given up. NULL: it may not. */
	void (*cancel)(void *arg);
	void *cancel_arg;
};

/* {"result": "failed", "message": …} with an HTTP status; the message is escaped. */
void answer_failed(struct answer *answer, unsigned status, const char *message);

/* 200, a PUT was taken. */
void answer_taken(struct answer *answer);
