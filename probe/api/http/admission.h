/* SPDX-License-Identifier: GPL-2.0-only */
/* Whether a request is let in: before its body is read, and before anything is done for it. */
#pragma once

#include "access/access.h"
#include "access/browser.h"
#include "access/client.h"
#include "api/http/dispatch.h"

/* What the server lets in; borrowed. */
struct admission {
	const struct access_rules *rules;
	struct browser_names names;
	struct clients *clients;
};

/* A request's sender, as its connection and its headers tell. */
struct visitor {
	const struct peer *peer;
	struct client *client;
	bool metrics_only; /* it came to the address for /metrics and /healthz */
	bool needs_host;   /* it isn't HTTP/1.0 */
	struct browser_headers browser;
	const char *authorization;   /* NULL: none */
	bool has_certificate;	     /* a good one */
	const char *bad_certificate; /* why one isn't good; NULL: none was sent, or a good one */
};

/*
 * Fills in the caller, and query.of_user where only a process of the caller's own may be asked for.
 * `costly`: the request is booked as one that costs, until client_end_costly(). False: the answer
 * says why not.
 */
bool admission_check(const struct admission *admission, const struct visitor *visitor,
		     struct call *call, struct caller *caller, bool *costly);
