// SPDX-License-Identifier: GPL-2.0-or-later
/* RFC 8259: a string may hold any character but `"`, `\` and what is below U+0020. */
#include "output/text/json_string.h"

#include "base/utf8.h"

static void add_escape(struct buf *out, unsigned char c)
{
	if (c == '"' || c == '\\') {
		buf_char(out, '\\');
		buf_char(out, (char)c);
	} else if (c < 0x80) {
		buf_str(out, c < 0x10 ? "\\u000" : "\\u00");
		buf_hex(out, c);
	} else {
		buf_str(out, UTF8_REPLACEMENT);
	}
}

void json_string(struct buf *out, const char *text, size_t len)
{
	size_t begin = 0, at = 0;

	buf_char(out, '"');
	while (at < len) {
		unsigned char c = (unsigned char)text[at];
		size_t bytes = utf8_sequence(text + at, len - at);

		if (bytes > 1 || (bytes && c >= 0x20 && c != 0x7f && c != '"' && c != '\\')) {
			at += bytes;
			continue;
		}
		buf_add(out, text + begin, at - begin);
		add_escape(out, c);
		begin = ++at;
	}
	buf_add(out, text + begin, len - begin);
	buf_char(out, '"');
}
