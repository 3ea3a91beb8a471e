// SPDX-License-Identifier: GPL-2.0-or-later
/* Unicode 15, table 3-7: well-formed UTF-8 byte sequences. */
#include "base/utf8.h"

#include <string.h>

static const uint32_t character_max = 0x10ffff;

static bool has_continuation(const unsigned char *p, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return false;
	}
	return true;
}

size_t utf8_sequence(const char *text, size_t len)
{
	const unsigned char *p = (const unsigned char *)text;

	if (p[0] < 0x80)
		return 1;
	if (p[0] >= 0xc2 && p[0] <= 0xdf)
		return len >= 2 && has_continuation(p, 2) ? 2 : 0;
	if (p[0] >= 0xe0 && p[0] <= 0xef) {
		if (len < 3 || !has_continuation(p, 3))
			return 0;
		if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f))
			return 0;
		return 3;
	}
	if (p[0] >= 0xf0 && p[0] <= 0xf4) {
		if (len < 4 || !has_continuation(p, 4))
			return 0;
		if ((p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
			return 0;
		return 4;
	}
	return 0;
}

/* Returns whether one sequence is a control character of ASCII or of Latin-1 (a terminal obeys
 * U+0080 to U+009F as it obeys ESC and a letter), a line separator, or a mark of direction
 * (U+2028..202E, U+2066..2069). */
static bool is_control(const unsigned char *p, size_t len)
{
	if (len == 1)
		return p[0] < ' ' || p[0] == 0x7f;
	if (len == 2)
		return p[0] == 0xc2 && p[1] < 0xa0;
	if (len == 3 && p[0] == 0xe2)
		return (p[1] == 0x80 && p[2] >= 0xa8 && p[2] <= 0xae) ||
		       (p[1] == 0x81 && p[2] >= 0xa6 && p[2] <= 0xa9);
	return false;
}

size_t utf8_printable(const char *text, size_t len)
{
	size_t bytes = utf8_sequence(text, len);

	return is_control((const unsigned char *)text, bytes) ? 0 : bytes;
}

bool utf8_is_character(uint32_t c)
{
	return c && c <= character_max && (c < 0xd800 || c > 0xdfff);
}

size_t utf8_put(char to[UTF8_MAX], uint32_t c)
{
	if (c < 0x80) {
		to[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		to[0] = (char)(0xc0 | c >> 6);
		to[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		to[0] = (char)(0xe0 | c >> 12);
		to[1] = (char)(0x80 | (c >> 6 & 0x3f));
		to[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	to[0] = (char)(0xf0 | c >> 18);
	to[1] = (char)(0x80 | (c >> 12 & 0x3f));
	to[2] = (char)(0x80 | (c >> 6 & 0x3f));
	to[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

bool utf8_is_line(const char *text, size_t len)
{
	for (size_t at = 0; at < len;) {
		size_t n = utf8_sequence(text + at, len - at);

		if (!n || (unsigned char)text[at] < ' ' || text[at] == 0x7f)
			return false;
		at += n;
	}
	return true;
}

void utf8_repair(char *text)
{
	size_t len = strlen(text);

	for (size_t at = 0; at < len;) {
		size_t n = utf8_sequence(text + at, len - at);

		if (!n)
			text[at] = '?';
		at += n ? n : 1;
	}
}
