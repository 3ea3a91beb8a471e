// SPDX-License-Identifier: GPL-2.0-or-later
#include "api/feature/interval_text.h"

#include <errno.h>
#include <string.h>

void interval_text_done(struct interval_text *text)
{
	buf_done(&text->text);
}

ssize_t interval_text_read(struct interval_text *text, char *to, size_t bytes, bool more)
{
	size_t part = text->text.len - text->taken;

	if (buf_error(&text->text))
		return -ENOMEM;
	if (!part)
		return more ? 0 : -ENOENT;
	if (part > bytes)
		part = bytes;
	memcpy(to, text->text.data + text->taken, part);
	text->taken += part;
	if (text->taken == text->text.len) {
		buf_done(&text->text); /* many clients may keep as much */
		text->text = (struct buf)BUF_INIT(INTERVAL_TEXT_MAX);
		text->taken = 0;
	}
	return (ssize_t)part;
}

static void write_missed(struct interval_text *text)
{
	if (!text->missed)
		return;
	if (text->json)
		buf_printf(&text->text, "{\"missed\": %u}\n", text->missed);
	else
		buf_printf(&text->text,
			   "# %u intervals are missing here: they were not read in time\n",
			   text->missed);
	text->missed = 0;
}

bool interval_text_begin(struct interval_text *text)
{
	if (text->taken != text->text.len) {
		text->missed++;
		return false;
	}
	write_missed(text);
	return true;
}

void interval_text_line(struct interval_text *text, const struct buf *json)
{
	for (size_t i = 0; i + 1 < json->len; i++)
		buf_char(&text->text, json->data[i] == '\n' ? ' ' : json->data[i]);
	if (json->len && json->data[json->len - 1] != '\n')
		buf_char(&text->text, json->data[json->len - 1]);
	buf_char(&text->text, '\n');
}

void interval_text_end(struct interval_text *text, const char *why)
{
	write_missed(text);
	if (why)
		buf_printf(&text->text, text->json ? "{\"ended\": \"%s\"}\n" : "# the end: %s\n",
			   why);
}
