// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds the JSON in a body: raw or as a form's field, complete and in valid UTF-8. */
#include "api/request/request_state.h"

#include <ctype.h>
#include <string.h>

#include "base/utf8.h"

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)tolower((unsigned char)c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decodes application/x-www-form-urlencoded in place. Returns false if an escape is broken. */
static bool url_decode(char *text)
{
	char *to = text;

	for (const char *from = text; *from; from++) {
		if (*from == '%') {
			int high = hex_digit(from[1]), low = high < 0 ? -1 : hex_digit(from[2]);

			if (low < 0 || (high == 0 && low == 0))
				return false;
			*to++ = (char)(high * 16 + low);
			from += 2;
		} else {
			*to++ = *from == '+' ? ' ' : *from;
		}
	}
	*to = '\0';
	return true;
}

/* Returns whether the JSON has an escaped NUL, which would end a text too early. */
static bool has_escaped_nul(const char *json)
{
	for (const char *at = json; (at = strstr(at, "\\u0000")); at++) {
		size_t backslashes = 1;

		while (at - backslashes >= json && *(at - backslashes) == '\\')
			backslashes++;
		if (backslashes % 2)
			return true;
	}
	return false;
}

char *request_find_json(char *data, size_t bytes)
{
	if (memchr(data, '\0', bytes))
		return NULL;
	data[bytes] = '\0';
	char *json = strncmp(data, "json=", 5) == 0 ? data + 5 : data;
	char first = json[strspn(json, " \t\r\n+")];
	if (json != data && first != '{' && first != '/' && !url_decode(json))
		return NULL;
	if (has_escaped_nul(json))
		return NULL;
	for (size_t at = 0, len = strlen(json); at < len;) {
		size_t n = utf8_sequence(json + at, len - at);

		if (!n)
			return NULL;
		at += n;
	}
	return json;
}
