// SPDX-License-Identifier: GPL-2.0-only
/* Unicode 15, table 3-7: well-formed UTF-8 byte sequences. */
#include "base/utf8.h"

#include <stdbool.h>

static bool continues(const unsigned char *p, size_t n)
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
		return len >= 2 && continues(p, 2) ? 2 : 0;
	if (p[0] >= 0xe0 && p[0] <= 0xef) {
		if (len < 3 || !continues(p, 3))
			return 0;
		if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f))
			return 0;
		return 3;
	}
	if (p[0] >= 0xf0 && p[0] <= 0xf4) {
		if (len < 4 || !continues(p, 4))
			return 0;
		if ((p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
			return 0;
		return 4;
	}
	return 0;
}
