// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/text/folded_header.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "output/format/output.h"

#define MS_NS 1000000

/* A value ends at a blank: what a host's name may not have is left out. */
static void add_word(struct buf *out, const char *key, const char *word)
{
	buf_printf(out, " %s=", key);
	for (; *word; word++) {
		if (isgraph((unsigned char)*word))
			buf_char(out, *word);
	}
}

static void add_number(struct buf *out, const char *key, uint64_t number)
{
	if (number)
		buf_printf(out, " %s=%" PRIu64, key, number);
}

/* Whether each event has a stack of its own: the guard thinned none. */
static bool is_whole(const struct profile_meta *meta)
{
	return meta->samples >= meta->events;
}

void folded_header_write(const struct profile_meta *meta, struct buf *out)
{
	buf_str(out, "# stackprobe");
	add_word(out, "unit", meta->count_name);
	/* Counts vary by their square root, but not those that stand for others. */
	add_number(out, "counts", !meta->event_name && !meta->by_bytes && is_whole(meta));
	add_number(out, "period_ns", meta->period_ns);
	add_number(out, "from", (uint64_t)(meta->from_ns / MS_NS));
	add_number(out, "until", (uint64_t)(meta->until_ns / MS_NS));
	if (meta->host)
		add_word(out, "host", meta->host);
	buf_char(out, '\n');
}

static bool read_number(const char *text, size_t len, uint64_t *number)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9' || __builtin_mul_overflow(sum, 10, &sum) ||
		    __builtin_add_overflow(sum, (uint64_t)(text[i] - '0'), &sum))
			return false;
	}
	*number = sum;
	return len > 0;
}

static void copy_word(char *to, size_t bytes, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (!isgraph((unsigned char)text[i]))
			return;
	}
	if (len >= bytes)
		return;
	memcpy(to, text, len);
	to[len] = '\0';
}

static bool has_key(const char *word, size_t key_len, const char *key)
{
	return key_len == strlen(key) && memcmp(word, key, key_len) == 0;
}

static void take_word(struct folded_header *header, const char *word, size_t len)
{
	const char *equals = memchr(word, '=', len);
	uint64_t number = 0;

	if (!equals)
		return;
	size_t key_len = (size_t)(equals - word), value_len = len - key_len - 1;
	const char *value = equals + 1;
	if (has_key(word, key_len, "unit"))
		copy_word(header->unit, sizeof(header->unit), value, value_len);
	else if (has_key(word, key_len, "host"))
		copy_word(header->host, sizeof(header->host), value, value_len);
	else if (!read_number(value, value_len, &number) || number > INT64_MAX)
		return;
	else if (has_key(word, key_len, "counts"))
		header->counts = number == 1;
	else if (has_key(word, key_len, "period_ns"))
		header->period_ns = number;
	else if (has_key(word, key_len, "from"))
		header->from_ms = (int64_t)number;
	else if (has_key(word, key_len, "until"))
		header->until_ms = (int64_t)number;
}

bool folded_header_read(const char *line, size_t len, struct folded_header *header)
{
	const char *end = line + len, *word = line + strlen(FOLDED_HEADER);

	if (len < strlen(FOLDED_HEADER) || memcmp(line, FOLDED_HEADER, strlen(FOLDED_HEADER)) != 0)
		return false;
	*header = (struct folded_header){0};
	while (word < end) {
		const char *blank = memchr(word, ' ', (size_t)(end - word));
		const char *word_end = blank ? blank : end;

		take_word(header, word, (size_t)(word_end - word));
		word = word_end + 1;
	}
	return true;
}

uint64_t folded_header_took_ms(const struct folded_header *header)
{
	if (header->from_ms <= 0 || header->until_ms <= header->from_ms)
		return 0;
	return (uint64_t)(header->until_ms - header->from_ms);
}
