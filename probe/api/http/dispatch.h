/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Dispatcher: finds the page or feature that answers a request. Loop thread only. */
#pragma once

#include "api/feature/feature.h"

/* A request whose body is complete. All is borrowed. */
struct call {
	const struct services *services;
	const char *path, *method;
	struct query query;
	const struct caller *caller; /* who asks; the role allows the request */
	/* headers; NULL: not there */
	const char *host, *accept, *accept_encoding, *if_none_match;
	bool tls;
	struct buf *body; /* body of a PUT; changed */
	struct answer *answer;
	void (*ready)(void *arg); /* called later if the answer's status stays 0 */
	void *arg;
};

/* Returns in *need what the call needs. Ignores the caller and the body. */
void call_need(const struct call *call, struct need *need);

/* Returns whether the call is for a page that everybody may have: /metrics, /healthz, /, /ui/…. */
bool call_is_page(const struct call *call);

/* Returns whether the address for scrapers has it: /metrics, /healthz. */
bool call_is_scraped(const struct call *call);

/* Returns whether the call is a PUT of a feature, which changes later answers and has a body. */
bool call_is_put(const struct call *call);

/* Answers a call: fills the answer, or leaves its status 0 and calls ready(arg) later. */
void call_dispatch(const struct call *call);
