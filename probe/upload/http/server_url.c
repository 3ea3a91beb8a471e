// SPDX-License-Identifier: GPL-2.0-or-later
#include "upload/http/server_url.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/libcurl.h"

static void cleanup_url(CURLU **url)
{
	if (*url)
		curl_url_cleanup(*url);
}

static void cleanup_text(char **text)
{
	if (*text)
		curl_free(*text);
}

#define _cleanup_url_  _cleanup_(cleanup_url)
#define _cleanup_text_ _cleanup_(cleanup_text)

/* The parts by which servers are compared; allocated by libcurl. */
struct url_parts {
	char *scheme, *host, *port, *path;
};

static void cleanup_parts(struct url_parts *parts)
{
	cleanup_text(&parts->scheme);
	cleanup_text(&parts->host);
	cleanup_text(&parts->port);
	cleanup_text(&parts->path);
}

#define _cleanup_parts_ _cleanup_(cleanup_parts)

static bool has_part(CURLU *parsed, CURLUPart part)
{
	_cleanup_text_ char *text = NULL;

	return curl_url_get(parsed, part, &text, 0) == CURLUE_OK;
}

/* Returns what follows "scheme://", or the whole text: a later "://" is not of a scheme. */
static const char *behind_scheme(const char *text)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789+-.";
	size_t len = strspn(text, letters);

	return len && strncmp(text + len, "://", 3) == 0 ? text + len + 3 : text;
}

/* Checks the host more strictly than libcurl, which takes a percent sign, a third slash, an empty
 * port, "|". */
static bool has_plain_host(const char *text)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789.-_:[]";
	const char *begin = behind_scheme(text);
	size_t len = strcspn(begin, "/");

	return len > 0 && strspn(begin, allowed) >= len && begin[len - 1] != ':';
}

static bool is_plain(const char *text)
{
	size_t len = strlen(text);

	if (len == 0 || len >= SERVER_URL_MAX)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (text[i] <= ' ' || text[i] > '~')
			return false;
	}
	/* libcurl doesn't report an empty query or fragment. Some parsers take a backslash for a
	 * slash. */
	return !strpbrk(text, "?#\\") && has_plain_host(text);
}

static int parse_url(const char *text, CURLU **ret)
{
	_cleanup_url_ CURLU *parsed = NULL;
	char with_scheme[SERVER_URL_MAX + sizeof("http://")];
	_cleanup_text_ char *scheme = NULL, *port = NULL;

	if (!is_plain(text))
		return -EINVAL;
	if (!libcurl_load())
		return -ENOSYS;
	parsed = curl_url();
	if (!parsed)
		return -ENOMEM;
	snprintf(with_scheme, sizeof(with_scheme), "%s%s",
		 behind_scheme(text) > text ? "" : "http://", text);
	CURLUcode code = curl_url_set(parsed, CURLUPART_URL, with_scheme, CURLU_DISALLOW_USER);
	if (code)
		return code == CURLUE_OUT_OF_MEMORY ? -ENOMEM : -EINVAL;
	if (!has_part(parsed, CURLUPART_HOST))
		return -EINVAL;
	if (curl_url_get(parsed, CURLUPART_SCHEME, &scheme, 0) ||
	    (strcmp(scheme, "http") != 0 && strcmp(scheme, "https") != 0))
		return -EINVAL;
	if (curl_url_get(parsed, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) ||
	    strspn(port, "0") == strlen(port))
		return -EINVAL;
	*ret = TAKE_PTR(parsed);
	return 0;
}

/* Parses `text` into its parts. A missing port is the scheme's with CURLU_DEFAULT_PORT in
 * `port_flags`, else NULL. */
static int take_apart(const char *text, unsigned port_flags, struct url_parts *parts)
{
	_cleanup_url_ CURLU *parsed = NULL;
	int r = parse_url(text, &parsed);

	if (r < 0)
		return r;
	CURLUcode code = curl_url_get(parsed, CURLUPART_PORT, &parts->port, port_flags);
	if (code && code != CURLUE_NO_PORT)
		return -ENOMEM;
	if (curl_url_get(parsed, CURLUPART_SCHEME, &parts->scheme, 0) ||
	    curl_url_get(parsed, CURLUPART_HOST, &parts->host, 0) ||
	    curl_url_get(parsed, CURLUPART_PATH, &parts->path, 0))
		return -ENOMEM;
	for (char *c = parts->host; *c; c++)
		*c = (char)(*c >= 'A' && *c <= 'Z' ? *c | 0x20 : *c);
	size_t len = strlen(parts->path);
	while (len && parts->path[len - 1] == '/')
		parts->path[--len] = '\0';
	return 0;
}

int server_url(const char *text, char *url, size_t bytes)
{
	_cleanup_parts_ struct url_parts parts = {0};

	if (bytes)
		url[0] = '\0';
	int r = take_apart(text, 0, &parts);
	if (r < 0)
		return r;
	int len = snprintf(url, bytes, "%s://%s%s%s%s", parts.scheme, parts.host,
			   parts.port ? ":" : "", parts.port ? parts.port : "", parts.path);
	if (len < 0 || (size_t)len >= bytes) {
		if (bytes)
			url[0] = '\0';
		return -EINVAL;
	}
	return 0;
}

/* Returns the @ that ends a user and password, or NULL. A password may have any characters that its
 * owner forgot to escape, so the last @ counts; but a valid server may have an @ in its path. */
static const char *find_user_end(const char *text, const char *begin)
{
	const char *first = strchr(begin, '@'), *last = strrchr(begin, '@');
	char url[SERVER_URL_BYTES];

	if (!first || ((size_t)(first - begin) > strcspn(begin, "/?#\\") &&
		       server_url(text, url, sizeof(url)) != -EINVAL))
		return NULL;
	return last;
}

void server_url_show(const char *text, char *shown, size_t bytes)
{
	const char *begin = behind_scheme(text);
	const char *user_end = find_user_end(text, begin);

	if (user_end)
		snprintf(shown, bytes, "%.*s***%s", (int)(begin - text), text, user_end);
	else
		snprintf(shown, bytes, "%s", text);
}

bool server_is_allowed(const char *url, char *const *allow, size_t allow_count)
{
	_cleanup_parts_ struct url_parts wanted = {0};

	if (!allow_count)
		return true;
	if (take_apart(url, CURLU_DEFAULT_PORT, &wanted) < 0)
		return false;
	for (size_t i = 0; i < allow_count; i++) {
		_cleanup_parts_ struct url_parts one = {0};

		if (take_apart(allow[i], CURLU_DEFAULT_PORT, &one) == 0 &&
		    strcmp(one.scheme, wanted.scheme) == 0 && strcmp(one.host, wanted.host) == 0 &&
		    strcmp(one.port, wanted.port) == 0 && strcmp(one.path, wanted.path) == 0)
			return true;
	}
	return false;
}

bool server_is_loopback(const char *url)
{
	_cleanup_parts_ struct url_parts parts = {0};
	struct in_addr four;
	struct in6_addr six;

	if (take_apart(url, 0, &parts) < 0)
		return false;
	size_t len = strlen(parts.host);
	if (inet_pton(AF_INET, parts.host, &four) == 1)
		return ntohl(four.s_addr) >> 24 == 127;
	if (len < 2 || parts.host[0] != '[')
		return strcmp(parts.host, "localhost") == 0;
	parts.host[len - 1] = '\0'; /* the closing bracket */
	if (inet_pton(AF_INET6, parts.host + 1, &six) != 1)
		return false;
	return IN6_IS_ADDR_LOOPBACK(&six) || (IN6_IS_ADDR_V4MAPPED(&six) && six.s6_addr[12] == 127);
}
