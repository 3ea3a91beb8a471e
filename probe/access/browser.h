/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Requests that a page of somebody else's makes a browser send. Source: RFC 9110 7.2 (Host), RFC
 * 6454 (Origin), W3C Fetch Metadata (Sec-Fetch-*); RFC 9110 10.1.3 (Referer) where there is none.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Headers of a request, each NULL where it wasn't sent. */
struct browser_headers {
	const char *host;
	const char *origin;
	const char *site, *mode, *dest; /* Sec-Fetch-… */
	const char *referer;
	bool tls;
};

/* Names by which this host is meant. */
struct browser_names {
	const char *own; /* the host's name */
	char *const *more;
	size_t more_count;
};

enum browser_verdict {
	BROWSER_FINE,
	BROWSER_MISDIRECTED, /* Host is somebody else's name, perhaps rebound to our address: 421 */
	BROWSER_FOREIGN,     /* another site's page sent it: 403 */
};

/*
 * Judges a request over TCP. `costs`: answering it costs more than a look; otherwise what a link
 * elsewhere leads to is let through. Host may be missing only where `needs_host` is false
 * (HTTP/1.0, which no browser sends).
 */
enum browser_verdict browser_judge(const struct browser_headers *headers,
				   const struct browser_names *names, bool needs_host, bool costs);
