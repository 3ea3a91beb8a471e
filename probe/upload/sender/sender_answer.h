/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Judges a server's answer: what it means for the body that was sent. Pure functions. */
#pragma once

#include <stdbool.h>

#include "upload/http/http.h"

enum verdict {
	VERDICT_STORED,
	VERDICT_REFUSED, /* the server will never take the body */
	VERDICT_SERVER,	 /* try again: the server's fault */
	VERDICT_BODY,	 /* try again: perhaps the body's fault */
};

/*
 * Returns the verdict:
 * STORED   200..299
 * SERVER   429, 502, 503, 504; not sent; no answer to a POST (redirects, 1xx, 600 and above)
 * BODY     408, other 5xx; sent, but no answer came
 * REFUSED  501, other 4xx
 */
enum verdict answer_verdict(const struct http_answer *answer);

/* Returns whether the server may have stored the body: stored; or unknown, as no answer came or a
 * gateway got none (502, 504). */
bool answer_may_be_stored(const struct http_answer *answer);

/* Makes a text for people: "429: more than it takes now", "connection refused". The text has no
 * words of the server: whoever may GET would read what only this host may ask for. */
void answer_text(const struct http_answer *answer, char *text, size_t bytes);
