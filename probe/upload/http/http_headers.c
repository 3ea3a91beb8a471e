// SPDX-License-Identifier: GPL-2.0-or-later
#include "upload/http/http_headers.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

/* PAIR_MAX: two secrets, a colon and a NUL. HEADER_MAX: these in base64, and the header's name. */
#define PAIR_MAX   (2 * HTTP_SECRET_MAX + 2)
#define HEADER_MAX ((PAIR_MAX + 2) / 3 * 4 + 64)

void http_headers_free(struct curl_slist *headers)
{
	for (struct curl_slist *line = headers; line; line = line->next)
		explicit_bzero(line->data, strlen(line->data));
	curl_slist_free_all(headers);
}

static void cleanup_headers(struct curl_slist **headers)
{
	http_headers_free(*headers);
}

/* Whether the text has no byte that could end its header line and begin another one. */
static bool is_value(const char *text)
{
	size_t len = strnlen(text, HTTP_SECRET_MAX + 1);

	if (len > HTTP_SECRET_MAX)
		return false;
	for (size_t i = 0; i < len; i++) {
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			return false;
	}
	return true;
}

static int add_header(struct curl_slist **headers, const char *line)
{
	struct curl_slist *longer = curl_slist_append(*headers, line);

	if (!longer)
		return -ENOMEM;
	*headers = longer;
	return 0;
}

static int add_value(struct curl_slist **headers, const char *name, const char *value)
{
	char line[HEADER_MAX];

	if (!value[0] || !is_value(value))
		return -EINVAL;
	snprintf(line, sizeof(line), "%s %s", name, value);
	int r = add_header(headers, line);
	explicit_bzero(line, sizeof(line));
	return r;
}

/* Writes base64 (RFC 4648, section 4) and a NUL. */
static void encode_base64(char *to, const char *from, size_t len)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < len; i += 3) {
		uint32_t three = (uint32_t)(unsigned char)from[i] << 16;

		if (i + 1 < len)
			three |= (uint32_t)(unsigned char)from[i + 1] << 8;
		if (i + 2 < len)
			three |= (unsigned char)from[i + 2];
		*to++ = letters[three >> 18];
		*to++ = letters[three >> 12 & 63];
		*to++ = (char)(i + 1 < len ? letters[three >> 6 & 63] : '=');
		*to++ = (char)(i + 2 < len ? letters[three & 63] : '=');
	}
	*to = '\0';
}

static int add_basic(struct curl_slist **headers, const char *user, const char *password)
{
	char pair[PAIR_MAX], line[HEADER_MAX] = "Authorization: Basic ";

	if (!user[0] || !is_value(user) || !is_value(password) || strchr(user, ':'))
		return -EINVAL;
	snprintf(pair, sizeof(pair), "%s:%s", user, password);
	encode_base64(line + strlen(line), pair, strlen(pair));
	int r = add_header(headers, line);
	explicit_bzero(pair, sizeof(pair));
	explicit_bzero(line, sizeof(line));
	return r;
}

static int add_auth(struct curl_slist **headers, const struct http_auth *auth)
{
	int r = 0;

	if ((auth->user && auth->token) || (auth->password && !auth->user))
		return -EINVAL;
	if (auth->user)
		r = add_basic(headers, auth->user, auth->password ? auth->password : "");
	else if (auth->token)
		r = add_value(headers, "Authorization: Bearer", auth->token);
	if (r == 0 && auth->tenant)
		r = add_value(headers, "X-Scope-OrgID:", auth->tenant);
	return r;
}

int http_headers_new(struct curl_slist **ret, const struct http_post *request)
{
	_cleanup_(cleanup_headers) struct curl_slist *headers = NULL;

	if (!request->content_type)
		return -EINVAL;
	int r = add_value(&headers, "Content-Type:", request->content_type);
	/* Without this line libcurl waits for a 100 before it sends a large body. */
	if (r == 0)
		r = add_header(&headers, "Expect:");
	if (r == 0 && request->auth)
		r = add_auth(&headers, request->auth);
	if (r == 0)
		*ret = TAKE_PTR(headers);
	return r;
}
