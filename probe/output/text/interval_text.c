// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/text/interval_text.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"

void interval_text_done(struct interval_text *text)
{
	buf_done(&text->text);
}

void interval_text_take(struct interval_text *text, size_t bytes)
{
	size_t max = text->text.max;

	text->taken += bytes;
	if (text->taken < text->text.len)
		return;
	buf_done(&text->text); /* many clients may keep as much */
	text->text = (struct buf)BUF_INIT(max);
	text->taken = 0;
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
	interval_text_take(text, part);
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

/* Adds the line that tells what an interval is of. */
static void write_times(struct buf *out, const struct profile_meta *meta)
{
	buf_printf(out, "{\"from\": %lld, \"until\": %lld, \"period_ns\": %llu, ",
		   (long long)(meta->from_ns / NS_PER_MS), (long long)(meta->until_ns / NS_PER_MS),
		   (unsigned long long)(meta->by_period ? meta->period_ns : 0));
	buf_printf(out, "\"lost\": %llu, \"truncated\": %llu, \"left_out\": %llu}\n",
		   (unsigned long long)meta->lost, (unsigned long long)meta->truncated,
		   (unsigned long long)meta->left_out);
}

bool interval_text_profile(struct interval_text *text, const struct output *output,
			   const struct profile_meta *meta, const struct buf *content)
{
	struct buf *out = &text->text;

	if (!interval_text_begin(text))
		return false;
	if (text->json)
		write_times(out, meta);
	if (strcmp(output->extension, "json") == 0) {
		interval_text_line(text, content);
		return true;
	}
	buf_add(out, content->data, content->len);
	if (content->len && content->data[content->len - 1] != '\n')
		buf_char(out, '\n');
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
