/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A growing byte buffer with a maximum: the writer of every output.
 *
 * Errors stick: after the first failure (-ENOMEM, or -ENOSPC at the maximum) every add does
 * nothing and buf_error() keeps its errno, so callers check once, at the end.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct buf {
	char *data; /* not NUL-terminated; NULL while empty */
	size_t len;
	size_t capacity;
	size_t max;
	int error; /* 0 or negative errno */
};

#define BUF_INIT(max_bytes)                                                                        \
	{                                                                                          \
		.max = (max_bytes)                                                                 \
	}

void buf_done(struct buf *buf);
#define _cleanup_buf_ _cleanup_(buf_done)

static inline int buf_error(const struct buf *buf)
{
	return buf->error;
}

/* Returns room for `bytes` more bytes, which the caller fills and then adds to buf->len; NULL on
 * error. */
char *buf_reserve(struct buf *buf, size_t bytes);

void buf_add(struct buf *buf, const void *data, size_t bytes);
void buf_str(struct buf *buf, const char *text);
void buf_char(struct buf *buf, char c);
void buf_u64(struct buf *buf, uint64_t value);
void buf_hex(struct buf *buf, uint64_t value);
void buf_printf(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
