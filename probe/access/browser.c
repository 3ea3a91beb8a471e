// SPDX-License-Identifier: GPL-2.0-only
#include "access/browser.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define HOST_MAX 256

/* Splits "name", "name:port", "[address]" or "[address]:port"; false: it is none of them. */
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

static bool is_address(const char *name, bool bracketed)
{
	unsigned char address[sizeof(struct in6_addr)];

	return inet_pton(bracketed ? AF_INET6 : AF_INET, name, address) == 1;
}

/* The name up to its first dot is the host's as well. */
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

static bool is_same_origin(const struct browser_headers *headers)
{
	const char *scheme = headers->tls ? "https://" : "http://";
	size_t len = strlen(scheme);

	return headers->host && strncasecmp(headers->origin, scheme, len) == 0 &&
	       strcasecmp(headers->origin + len, headers->host) == 0;
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
	if (!headers->site || strcasecmp(headers->site, "same-origin") == 0 ||
	    strcasecmp(headers->site, "none") == 0)
		return BROWSER_FINE;
	return is_navigation(headers) && !costs ? BROWSER_FINE : BROWSER_FOREIGN;
}
