/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Detects requests that another site's page makes a browser send (CSRF, DNS rebinding). Source: RFC
 * 9110 7.2 (Host), RFC 6454 (Origin), W3C Fetch Metadata (Sec-Fetch-*); RFC 9110 10.1.3 (Referer)
 * if there is no Fetch Metadata.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Headers of a request; NULL: not sent. */
struct browser_headers {
	const char *host;
	const char *origin;
	const char *site, *mode, *dest; /* Sec-Fetch-… */
	const char *referer;
	bool tls;
};

/* The names of this host that a Host header may have. */
struct browser_names {
	const char *own;   /* the host's name */
	char *const *more; /* further names */
	size_t more_count;
};

enum browser_verdict {
	BROWSER_FINE,
	BROWSER_MISDIRECTED, /* Host isn't a name of ours, perhaps rebound to our address: 421 */
	BROWSER_FOREIGN,     /* another site's page sent the request: 403 */
};

/*
 * Judges a request over TCP. `costs`: the answer is expensive; if not, a request from a link on
 * another site is allowed. Host may be missing only if `needs_host` is false (HTTP/1.0, which no
 * browser sends).
 */
enum browser_verdict browser_judge(const struct browser_headers *headers,
				   const struct browser_names *names, bool needs_host, bool costs);
