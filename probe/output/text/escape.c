// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/text/escape.h"

#include "base/utf8.h"

/*
 * Returns what replaces the character at `text`, which is *bytes long; NULL: the character stays.
 * Many readers end a line at U+0085, U+2028 and U+2029, so these become blanks like `\n`.
 */
static const char *folded_replacement(const char *text, size_t len, size_t *bytes)
{
	const unsigned char *p = (const unsigned char *)text;

	*bytes = 1;
	if (p[0] < 0x80)
		return p[0] == ';' ? ":" : p[0] < 0x20 || p[0] == 0x7f ? " " : NULL;
	size_t n = utf8_sequence(text, len);
	if (!n)
		return UTF8_REPLACEMENT;
	*bytes = n;
	if (p[0] == 0xc2 && p[1] < 0xa0)
		return " ";
	if (p[0] == 0xe2 && p[1] == 0x80 && (p[2] == 0xa8 || p[2] == 0xa9))
		return " ";
	return NULL;
}

void folded_name(struct buf *out, const char *name, size_t len)
{
	size_t begin = 0, at = 0; /* characters that stay are added in one piece */

	while (at < len) {
		size_t bytes;
		const char *instead = folded_replacement(name + at, len - at, &bytes);

		if (instead) {
			buf_add(out, name + begin, at - begin);
			buf_str(out, instead);
			begin = at + bytes;
		}
		at += bytes;
	}
	buf_add(out, name + begin, len - begin);
}
