// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/json.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

static void begin_line(struct json *json)
{
	buf_char(json->out, '\n');
	for (unsigned i = 0; i < json->depth; i++)
		buf_char(json->out, '\t');
}

void json_raw(struct json *json, const char *key, const char *value)
{
	size_t key_len = key ? strlen(key) : 0, len = strlen(value);

	if (json->has_value)
		buf_str(json->out, json->indented && !key ? ", " : ",");
	if (json->indented && key)
		begin_line(json);
	json->has_value = true;
	char *p = buf_reserve(json->out, key_len + len + sizeof("\"\":\t"));
	if (!p)
		return;
	if (key) {
		*p++ = '"';
		p = mempcpy(p, key, key_len);
		p = mempcpy(p, "\":\t", json->indented ? 3 : 2);
	}
	json->out->len = (size_t)((char *)mempcpy(p, value, len) - json->out->data);
}

void json_begin(struct json *json, const char *key, const char *bracket)
{
	json_raw(json, key, bracket);
	json->has_value = false;
	json->depth++;
}

void json_end(struct json *json, char bracket)
{
	json->depth--;
	if (json->indented && bracket == '}')
		begin_line(json);
	buf_char(json->out, bracket);
	json->has_value = true;
}

void json_line(struct json *json)
{
	buf_str(json->out, json->has_value ? ",\n" : "\n");
	json->has_value = false;
}

void json_u64(struct json *json, const char *key, uint64_t value)
{
	json_raw(json, key, "");
	buf_u64(json->out, value);
}

void json_add_numbers(struct json *json, const struct json_number *numbers)
{
	for (; numbers->key; numbers++)
		json_u64(json, numbers->key, numbers->value);
}

void json_seconds(struct json *json, const char *key, uint64_t time_ns)
{
	json_raw(json, key, "");
	buf_printf(json->out, "%llu.%03llu", (unsigned long long)(time_ns / 1000000000),
		   (unsigned long long)(time_ns % 1000000000 / 1000000));
}

void json_double(struct json *json, const char *key, double value)
{
	char text[32];

	snprintf(text, sizeof(text), "%.15g", value);
	if (fabs(strtod(text, NULL) - value) > fabs(value) * DBL_EPSILON)
		snprintf(text, sizeof(text), "%.17g", value);
	json_raw(json, key, text);
}

/* RFC 8259: a string may hold any character but `"`, `\` and what is below U+0020. */
static void add_escape(struct buf *out, unsigned char c, bool in_short)
{
	static const char letters[' '] = {
		['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't'};

	if (c == '"' || c == '\\')
		buf_printf(out, "\\%c", c);
	else if (in_short && c < ' ' && letters[c])
		buf_printf(out, "\\%c", letters[c]);
	else if (c < 0x80)
		buf_printf(out, "\\u%04x", c);
	else
		buf_str(out, UTF8_REPLACEMENT);
}

static void add_quoted(struct json *json, const char *key, const char *text, size_t len,
		       bool in_short)
{
	struct buf *out = json->out;
	size_t begin = 0; /* characters that stay are added in one piece */

	json_raw(json, key, "\"");
	for (size_t at = 0, bytes; at < len; at += bytes ? bytes : 1) {
		unsigned char c = (unsigned char)text[at];

		bytes = c < 0x80 ? 1 : utf8_sequence(text + at, len - at);
		if (bytes > 1 ||
		    (bytes && c >= ' ' && c != '"' && c != '\\' && (c != 0x7f || in_short)))
			continue;
		buf_add(out, text + begin, at - begin);
		add_escape(out, c, in_short);
		begin = at + 1;
	}
	buf_add(out, text + begin, len - begin);
	buf_char(out, '"');
}

void json_text(struct json *json, const char *key, const char *text)
{
	add_quoted(json, key, text, strlen(text), true);
}

void json_name(struct json *json, const char *key, const char *name)
{
	json_string(json, key, name, strlen(name));
}

void json_string(struct json *json, const char *key, const char *text, size_t len)
{
	add_quoted(json, key, text, len, false);
}
