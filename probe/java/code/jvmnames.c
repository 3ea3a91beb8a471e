// SPDX-License-Identifier: GPL-2.0-or-later
#include "java/code/jvmnames.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/utf8.h"
#include "base/cleanup.h"

#define REPLACEMENT 0xfffd

static const size_t ellipsis_bytes = sizeof(UTF8_ELLIPSIS) - 1;

/* Adds a text; if there is no room, adds an ellipsis instead and returns false. */
static bool add_text(struct jvmname *name, const char *text, size_t bytes)
{
	if (name->len + bytes + ellipsis_bytes <= sizeof(name->text)) {
		memcpy(name->text + name->len, text, bytes);
		name->len += bytes;
		return true;
	}
	memcpy(name->text + name->len, UTF8_ELLIPSIS, ellipsis_bytes);
	name->len += ellipsis_bytes;
	return false;
}

/* Decodes a UTF-16 unit of one to three bytes and moves *at behind it; returns 0 if there is none.
 */
static uint32_t unit_at(const uint8_t *data, size_t bytes, size_t *at)
{
	size_t left = bytes - *at;
	const uint8_t *p = data + *at;

	if (p[0] < 0x80) {
		(*at)++;
		return p[0];
	}
	if (p[0] >= 0xc0 && p[0] < 0xe0 && left >= 2 && (p[1] & 0xc0) == 0x80) {
		uint32_t c = (p[0] & 0x1fU) << 6 | (p[1] & 0x3fU);

		*at += 2;
		return c ? c : REPLACEMENT;
	}
	if (p[0] >= 0xe0 && p[0] < 0xf0 && left >= 3 && (p[1] & 0xc0) == 0x80 &&
	    (p[2] & 0xc0) == 0x80) {
		*at += 3;
		return (p[0] & 0xfU) << 12 | (p[1] & 0x3fU) << 6 | (p[2] & 0x3fU);
	}
	return 0;
}

/* Returns the character of a surrogate pair, for characters beyond U+FFFF; else `high`. */
static uint32_t join_pair(uint32_t high, const uint8_t *data, size_t bytes, size_t *at)
{
	size_t behind = *at;
	uint32_t low;

	if (high < 0xd800 || high > 0xdbff || behind == bytes)
		return high;
	low = unit_at(data, bytes, &behind);
	if (low < 0xdc00 || low > 0xdfff)
		return high;
	*at = behind;
	return 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
}

int jvmname_decode(struct jvmname *name, const uint8_t *data, size_t bytes)
{
	char utf8[UTF8_MAX];

	name->len = 0;
	for (size_t at = 0; at < bytes;) {
		uint32_t c = unit_at(data, bytes, &at);

		if (!c)
			return -EBADMSG;
		c = join_pair(c, data, bytes, &at);
		if (!add_text(name, utf8, utf8_put(utf8, utf8_is_character(c) ? c : REPLACEMENT)))
			break;
	}
	return 0;
}

void jvmname_text(struct jvmname *name, const char *text, size_t bytes)
{
	name->len = 0;
	for (size_t at = 0; at < bytes && text[at];) {
		size_t sequence = utf8_sequence(text + at, bytes - at);
		bool added =
			sequence ? add_text(name, text + at, sequence)
				 : add_text(name, UTF8_REPLACEMENT, sizeof(UTF8_REPLACEMENT) - 1);

		if (!added)
			break;
		at += sequence ? sequence : 1;
	}
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f');
}

/* Returns the length without the digits at the end. */
static size_t before_digits(const char *text, size_t len)
{
	while (len && is_digit(text[len - 1]))
		len--;
	return len;
}

/* Returns the length without `/0x…`, `+0x…`, `.0x…` or `/123…` at the end. */
static size_t before_address(const char *text, size_t len)
{
	size_t at = before_digits(text, len);

	if (at > 1 && at < len && text[at - 1] == '/')
		return at - 1;
	at = len;
	while (at && is_hex(text[at - 1]))
		at--;
	if (at == len || at < 4 || text[at - 1] != 'x' || text[at - 2] != '0')
		return len;
	return text[at - 3] == '/' || text[at - 3] == '+' || text[at - 3] == '.' ? at - 3 : len;
}

static bool ends_with(const char *text, size_t len, const char *end)
{
	size_t bytes = strlen(end);

	return len >= bytes && memcmp(text + len - bytes, end, bytes) == 0;
}

static bool is_generated(const char *text, size_t len)
{
	static const char *const names[] = {
		"/reflect/GeneratedMethodAccessor",
		"/reflect/GeneratedConstructorAccessor",
		"/reflect/GeneratedSerializationConstructorAccessor",
		"/$Proxy",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (ends_with(text, len, names[i]) || (len == 6 && memcmp(text, "$Proxy", 6) == 0))
			return true;
	return false;
}

/* Changes `jdk/proxy2/` to `jdk/proxy/`; returns the new length. */
static size_t drop_proxy_number(char *text, size_t len)
{
	static const char package[] = "jdk/proxy";
	size_t from = sizeof(package) - 1, to = from;

	if (len < from || memcmp(text, package, from) != 0)
		return len;
	while (to < len && is_digit(text[to]))
		to++;
	if (to == len || text[to] != '/')
		return len;
	memmove(text + from, text + to, len - to);
	return len - (to - from);
}

/* Does the work of jvmname_class(); returns the new length. */
static size_t shorten_class(char *text, size_t len)
{
	size_t stem, digits;

	len = before_address(text, len);
	digits = before_digits(text, len);
	stem = digits && digits < len && text[digits - 1] == '$' ? digits - 1 : len;
	if (ends_with(text, stem, "$$Lambda"))
		len = stem;
	else if (digits < len && is_generated(text, digits))
		len = digits;
	len = drop_proxy_number(text, len);
	for (size_t i = 0; i < len; i++)
		if (text[i] == '/')
			text[i] = '.';
	return len;
}

void jvmname_class(struct jvmname *name)
{
	name->len = shorten_class(name->text, name->len);
}

static const char *primitive_name(char letter)
{
	switch (letter) {
	case 'B':
		return "byte";
	case 'C':
		return "char";
	case 'D':
		return "double";
	case 'F':
		return "float";
	case 'I':
		return "int";
	case 'J':
		return "long";
	case 'S':
		return "short";
	case 'Z':
		return "boolean";
	default:
		return NULL;
	}
}

/* Adds the type at *at and moves *at behind it. Returns 1, 0 if there is no more room, or -EBADMSG.
 */
static int add_type(struct jvmname *to, const struct jvmname *from, size_t *at)
{
	char class_name[JVMNAME_BYTES_MAX];
	size_t dimensions = 0, len;
	const char *text;

	for (; *at < from->len && from->text[*at] == '['; ++*at)
		dimensions++;
	if (*at >= from->len)
		return -EBADMSG;
	if (from->text[*at] == 'L') {
		const char *begin = from->text + *at + 1;
		const char *end = memchr(begin, ';', from->len - *at - 1);

		if (!end || end == begin)
			return -EBADMSG;
		*at += (size_t)(end - begin) + 2;
		memcpy(class_name, begin, (size_t)(end - begin));
		len = shorten_class(class_name, (size_t)(end - begin));
		text = class_name;
	} else {
		text = primitive_name(from->text[(*at)++]);
		if (!text)
			return -EBADMSG;
		len = strlen(text);
	}
	if (!add_text(to, text, len))
		return 0;
	for (; dimensions; dimensions--)
		if (!add_text(to, "[]", 2))
			return 0;
	return 1;
}

int jvmname_signature(struct jvmname *signature, const struct jvmname *descriptor)
{
	int r = 1;

	signature->len = 0;
	if (!descriptor->len || descriptor->text[0] != '(')
		return -EBADMSG;
	add_text(signature, "(", 1);
	for (size_t at = 1; r > 0;) {
		if (at >= descriptor->len) /* cut, or torn */
			return -EBADMSG;
		if (descriptor->text[at] == ')')
			return add_text(signature, ")", 1), 0;
		if (at > 1 && !add_text(signature, ", ", 2))
			return 0;
		r = add_type(signature, descriptor, &at);
	}
	return r;
}
