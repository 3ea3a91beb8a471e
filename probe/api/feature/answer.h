/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An answer to a request, before it is sent by HTTP. Loop thread only. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "api/request/notes.h"
#include "base/buf.h"

/* An answer that is sent in pieces as long as the client listens. */
struct stream {
	/*
	 * Writes up to `bytes` bytes to `to`; returns their number. 0: there are none now,
	 * wake(arg) is called when there are; negative: no more come.
	 */
	ssize_t (*read)(struct stream *stream, char *to, size_t bytes);
	/* Frees the stream: nobody reads it any more. */
	void (*free)(struct stream *stream);
	void (*wake)(void *arg); /* set by the server, with `arg`; NULL until it reads */
	void *arg;
};

/* An answer. Status 0: it isn't ready yet. */
struct answer {
	unsigned status;	  /* of HTTP */
	unsigned later;		  /* the status that it will have, if only that is known */
	const char *content_type; /* static */
	const char *allow;	  /* of a 405; static, else NULL */
	bool wants_token;	  /* of a 401 */
	const char *retry_after;  /* s, of a 429; static, else NULL */
	bool is_gzip;		  /* the body is packed */
	char etag[24]; /* a client may keep it and ask whether it is the same; "": it may not */
	const char *varies; /* headers of the request that it goes by; static; NULL: none */
	const char *policy; /* Content-Security-Policy; static; NULL: that of pictures and texts */
	const char *links;  /* what it needs besides (RFC 8288); static; NULL: nothing */
	struct notes notes; /* warnings; of a 400 the detail */
	struct buf body;
	struct stream *stream; /* instead of the body; owned */
	/*
	 * While it isn't ready: called when the client has gone, to give up the work. NULL: it
	 * can't be given up.
	 */
	void (*cancel)(void *arg);
	void *cancel_arg;
};

/* Fills in {"result": "failed", "message": …} with an HTTP status; escapes the message. A 400 has
 * "detail" as well: that of the notes, else the message. */
void answer_failed(struct answer *answer, unsigned status, const char *message);

/* Logs the warnings of the notes; `what` was asked. */
void answer_log_warnings(const struct answer *answer, const char *what);

/* Fills in a 200 for an accepted PUT, with the warnings of the notes. */
void answer_taken(struct answer *answer);
