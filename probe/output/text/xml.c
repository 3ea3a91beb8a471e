// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/text/xml.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/utf8.h"

/*
 * Returns what replaces the character at `text`, which is *bytes long; NULL: the character stays.
 * XML 1.0 (section 2.2) has no way at all to write most control characters, U+FFFE and U+FFFF.
 */
static const char *replacement_of_char(const char *text, size_t len, size_t *bytes)
{
	const unsigned char *p = (const unsigned char *)text;

	*bytes = 1;
	if (p[0] < 0x80) {
		switch (p[0]) {
		case '<':
			return "&lt;";
		case '>':
			return "&gt;";
		case '&':
			return "&amp;";
		case '"':
			return "&quot;";
		default:
			return p[0] < 0x20 || p[0] == 0x7f ? " " : NULL;
		}
	}
	size_t n = utf8_sequence(text, len);
	if (!n)
		return UTF8_REPLACEMENT;
	*bytes = n;
	if (p[0] == 0xc2 && p[1] < 0xa0)
		return " ";
	if (p[0] == 0xef && p[1] == 0xbf && p[2] >= 0xbe)
		return UTF8_REPLACEMENT;
	return NULL;
}

static inline bool is_plain(unsigned char c)
{
	/* One bit for each character from 0x20 to 0x7e that stands for itself. */
	static const uint64_t low = UINT64_C(0xafffffbb00000000),
			      high = UINT64_C(0x7fffffffffffffff);

	return c < 64 ? low >> c & 1 : c < 128 && (high >> (c - 64) & 1);
}

char *xml_put(char *p, const char *text, size_t len)
{
	size_t at = 0;

	while (at < len) {
		if (is_plain((unsigned char)text[at])) {
			*p++ = text[at++];
			continue;
		}
		size_t bytes;
		const char *instead = replacement_of_char(text + at, len - at, &bytes);

		if (!instead)
			p = mempcpy(p, text + at, bytes);
		while (instead && *instead)
			*p++ = *instead++;
		at += bytes;
	}
	return p;
}

void xml_add(struct buf *out, const char *text)
{
	size_t len = strlen(text);
	char *p = buf_reserve(out, XML_GROWTH * len);

	if (p)
		out->len += (size_t)(xml_put(p, text, len) - p);
}
