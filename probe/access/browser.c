// SPDX-License-Identifier: GPL-2.0-or-later
#include "access/browser.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define HOST_MAX 256

/* Splits "name", "name:port", "[address]" or "[address]:port"; false: `host` is none of these. */
static bool take_name(const char *host, char name[HOST_MAX], bool *bracketed)
{
	const char *end;

	*bracketed = host[0] == '[';
	if (*bracketed)
		end = strchr(++host, ']');
	else
		end = host + strcspn(host, ":");
	if (!end || end == host || end - host >= HOST_MAX)
		return false;
	memcpy(name, host, (size_t)(end - host));
	name[end - host] = '\0';
	end += *bracketed;
	if (*end == '\0')
		return true;
	return *end == ':' && strspn(end + 1, "0123456789") == strlen(end + 1);
}

/*
 * Returns whether `name` is an address. An unspecified address (0.0.0.0, [::]) doesn't count:
 * connecting to one leads to this host, but browsers send no Sec-Fetch-… headers to it, since it
 * isn't a loopback address.
 */
static bool is_address(const char *name, bool bracketed)
{
	struct in6_addr v6;
	struct in_addr v4;

	if (!bracketed)
		return inet_pton(AF_INET, name, &v4) == 1 && v4.s_addr != INADDR_ANY;
	if (inet_pton(AF_INET6, name, &v6) != 1 || IN6_IS_ADDR_UNSPECIFIED(&v6))
		return false;
	memcpy(&v4, &v6.s6_addr[12], sizeof(v4));
	return !IN6_IS_ADDR_V4MAPPED(&v6) || v4.s_addr != INADDR_ANY;
}

/* Returns whether `name` is the host's name, whole or up to its first dot. */
static bool is_own(const char *name, const char *own)
{
	size_t first = strcspn(own, ".");

	if (!own[0])
		return false;
	return strcasecmp(name, own) == 0 ||
	       (strlen(name) == first && strncasecmp(name, own, first) == 0);
}

static bool is_ours(const char *host, const struct browser_names *names)
{
	char name[HOST_MAX];
	bool bracketed;

	if (!take_name(host, name, &bracketed))
		return false;
	if (bracketed || is_address(name, false))
		return is_address(name, bracketed);
	if (strcasecmp(name, "localhost") == 0 || is_own(name, names->own))
		return true;
	for (size_t i = 0; i < names->more_count; i++) {
		if (strcasecmp(name, names->more[i]) == 0)
			return true;
	}
	return false;
}

/* Returns the part of `url` behind our own origin; NULL: `url` has another origin. */
static const char *after_origin(const struct browser_headers *headers, const char *url)
{
	const char *scheme = headers->tls ? "https://" : "http://";
	size_t len = strlen(scheme), host_len = headers->host ? strlen(headers->host) : 0;

	if (!headers->host || strncasecmp(url, scheme, len) != 0 ||
	    strncasecmp(url + len, headers->host, host_len) != 0)
		return NULL;
	return url + len + host_len;
}

static bool is_same_origin(const struct browser_headers *headers)
{
	const char *rest = after_origin(headers, headers->origin);

	return rest && !*rest;
}

/* Returns whether the Referer, a page's URL or only its origin, is of our own origin. */
static bool is_own_page(const struct browser_headers *headers)
{
	const char *rest = after_origin(headers, headers->referer);

	return rest && (!*rest || *rest == '/');
}

static bool is_navigation(const struct browser_headers *headers)
{
	return headers->mode && strcasecmp(headers->mode, "navigate") == 0 && headers->dest &&
	       strcasecmp(headers->dest, "document") == 0;
}

enum browser_verdict browser_judge(const struct browser_headers *headers,
				   const struct browser_names *names, bool needs_host, bool costs)
{
	if (headers->host ? !is_ours(headers->host, names) : needs_host)
		return BROWSER_MISDIRECTED;
	if (headers->origin && !is_same_origin(headers))
		return BROWSER_FOREIGN;
	/* Browsers send Sec-Fetch-Site only over TLS and to loopback addresses. */
	if (!headers->site && headers->referer && costs && !is_own_page(headers))
		return BROWSER_FOREIGN;
	if (!headers->site || strcasecmp(headers->site, "same-origin") == 0 ||
	    strcasecmp(headers->site, "none") == 0)
		return BROWSER_FINE;
	return is_navigation(headers) && !costs ? BROWSER_FINE : BROWSER_FOREIGN;
}
