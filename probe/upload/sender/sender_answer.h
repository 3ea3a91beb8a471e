/* SPDX-License-Identifier: GPL-2.0-only */
/* What an answer means for the body that was sent. */
#pragma once

#include <stdbool.h>

#include "upload/http/http.h"

enum verdict {
	VERDICT_STORED,
	VERDICT_REFUSED, /* it will never be taken */
	VERDICT_SERVER,	 /* again; it is the server that can't */
	VERDICT_BODY,	 /* again; it may be the body */
};

/*
 * 200..299: stored. 408, 5xx and no answer: the body's, but 429, 502, 503, 504, what couldn't be
 * sent, and what isn't an answer to a POST (redirects, 1xx) are the server's. 501 and all other
 * 4xx: refused.
 */
enum verdict answer_verdict(const struct http_answer *answer);

/* Whether the server may have stored it: it says so, or nobody can say (no answer came; a gateway
 * got none, 502 and 504). */
bool answer_may_be_stored(const struct http_answer *answer);

/* For people: "429: more than it takes now", "connection refused". It has no word of the server's:
 * whoever may GET would read what only this host can ask. */
void answer_text(const struct http_answer *answer, char *text, size_t bytes);
