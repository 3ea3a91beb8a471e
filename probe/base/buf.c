// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/buf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

void buf_done(struct buf *buf)
{
	free(buf->data);
	buf->data = NULL;
	buf->len = buf->capacity = 0;
}

char *buf_reserve(struct buf *buf, size_t bytes)
{
	if (buf->error)
		return NULL;
	if (bytes > buf->max - buf->len) {
		buf->error = -ENOSPC;
		return NULL;
	}
	if (buf->len + bytes > buf->capacity) {
		size_t capacity = buf->capacity ? buf->capacity * 2 : 256;

		if (capacity < buf->len + bytes)
			capacity = buf->len + bytes;
		char *data = realloc(buf->data, capacity);
		if (!data) {
			buf->error = -ENOMEM;
			return NULL;
		}
		buf->data = data;
		buf->capacity = capacity;
	}
	return buf->data + buf->len;
}

void buf_add(struct buf *buf, const void *data, size_t bytes)
{
	char *room = bytes ? buf_reserve(buf, bytes) : NULL;

	if (room) {
		memcpy(room, data, bytes);
		buf->len += bytes;
	}
}

void buf_str(struct buf *buf, const char *text)
{
	buf_add(buf, text, strlen(text));
}

void buf_char(struct buf *buf, char c)
{
	buf_add(buf, &c, 1);
}

static void add_digits(struct buf *buf, uint64_t value, unsigned base)
{
	char digits[20]; /* 2^64 has 20 decimal digits */
	char *p = digits + sizeof(digits);

	do {
		*--p = "0123456789abcdef"[value % base];
		value /= base;
	} while (value);
	buf_add(buf, p, (size_t)(digits + sizeof(digits) - p));
}

void buf_u64(struct buf *buf, uint64_t value)
{
	add_digits(buf, value, 10);
}

void buf_hex(struct buf *buf, uint64_t value)
{
	add_digits(buf, value, 16);
}

void buf_printf(struct buf *buf, const char *format, ...)
{
	char small[256];
	va_list args, again;

	va_start(args, format);
	va_copy(again, args);
	int n = vsnprintf(small, sizeof(small), format, args);
	va_end(args);
	if (n < 0) {
		buf->error = buf->error ? buf->error : -EINVAL;
	} else if ((size_t)n < sizeof(small)) {
		buf_add(buf, small, (size_t)n);
	} else {
		_cleanup_free_ char *text = malloc((size_t)n + 1);

		if (text) {
			vsnprintf(text, (size_t)n + 1, format, again);
			buf_add(buf, text, (size_t)n);
		} else {
			buf->error = buf->error ? buf->error : -ENOMEM;
		}
	}
	va_end(again);
}
