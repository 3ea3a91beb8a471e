// SPDX-License-Identifier: GPL-2.0-or-later
#include "api/request/notes.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/utf8.h"
#include "output/text/near_word.h"

#define KEY_BYTES 60 /* of a key that is quoted */

static void write_text(char *to, size_t bytes, const char *format, va_list args)
{
	vsnprintf(to, bytes, format, args);
	utf8_repair(to);
}

void notes_warn(struct notes *notes, const char *format, ...)
{
	va_list args;

	if (!notes || notes->count++ >= WARNINGS_MAX)
		return;
	va_start(args, format);
	write_text(notes->warnings[notes->count - 1], WARNING_BYTES, format, args);
	va_end(args);
}

void notes_explain(struct notes *notes, const char *format, ...)
{
	va_list args;

	if (!notes)
		return;
	va_start(args, format);
	write_text(notes->detail, DETAIL_BYTES, format, args);
	va_end(args);
}

void notes_unknown(struct notes *notes, const char *where, const char *key,
		   const char *const *known, size_t count)
{
	if (!notes || notes->count >= WARNINGS_MAX) {
		notes_warn(notes, "%s", ""); /* it is counted */
		return;
	}
	const char *meant = near_word(key, known, count);
	char all[WARNING_BYTES] = "";
	size_t len = 0;

	for (size_t i = 0; i < count && len < sizeof(all); i++)
		len += (size_t)snprintf(all + len, sizeof(all) - len, "%s%s", i ? ", " : "",
					known[i]);
	if (meant)
		notes_warn(notes, "%s has no %.*s, it is ignored: is it %s?", where, KEY_BYTES, key,
			   meant);
	else
		notes_warn(notes, "%s has no %.*s, it is ignored; there are %s", where, KEY_BYTES,
			   key, all);
}
