/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Admission of requests: decides whether a request is let in, before its body is read and before
 * any work is done for it. Loop thread only. */
#pragma once

#include "access/access.h"
#include "access/browser.h"
#include "access/client.h"
#include "api/http/dispatch.h"

/* What admission decides by. All is borrowed. */
struct admission {
	const struct access_rules *rules;
	struct browser_names names;
	struct clients *clients;
};

/* The sender of a request, as its connection and its headers tell. */
struct visitor {
	const struct peer *peer;
	struct client *client;
	bool metrics_only; /* the connection is at the address for /metrics and /healthz */
	bool needs_host;   /* the header Host is required: the request isn't HTTP/1.0 */
	struct browser_headers browser;
	const char *authorization;   /* NULL: none */
	bool has_certificate;	     /* the client sent a certificate, which is good */
	const char *bad_certificate; /* why the certificate isn't good; NULL: it is good, or there
					is none */
};

/*
 * Decides on a request. Fills in *caller, and query.of_user if only a process of the caller's own
 * may be asked for. *costly is true if the request was booked as costly; client_end_costly() ends
 * that, also for a request that is refused. Returns false if the request is refused; the answer
 * says why.
 */
bool admission_check(const struct admission *admission, const struct visitor *visitor,
		     struct call *call, struct caller *caller, bool *costly);
