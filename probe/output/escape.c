// SPDX-License-Identifier: GPL-2.0-only
#include "output/escape.h"

void escape_text(struct buf *out, const char *text, size_t len,
		 const char *(*replacement)(const char *at, size_t left, size_t *bytes))
{
	size_t begin = 0, at = 0; /* what stays is added in one piece */

	while (at < len) {
		size_t bytes;
		const char *instead = replacement(text + at, len - at, &bytes);

		if (instead) {
			buf_add(out, text + begin, at - begin);
			buf_str(out, instead);
			begin = at + bytes;
		}
		at += bytes;
	}
	buf_add(out, text + begin, len - begin);
}
