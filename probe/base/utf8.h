/* SPDX-License-Identifier: GPL-2.0-only */
/* Names from the world outside as valid UTF-8. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * How many bytes of `text` (at least one is there) form one valid UTF-8 sequence: 1–4, or 0 when
 * the first byte begins none (overlong forms, surrogates and values over U+10FFFF are invalid).
 */
size_t utf8_sequence(const char *text, size_t len);

/* The same, but 0 for what a line for people must not have as well: control characters of ASCII and
 * of Latin-1 (a terminal obeys them), separators of lines, and marks that turn a line's direction.
 */
size_t utf8_printable(const char *text, size_t len);

#define UTF8_REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */
#define UTF8_ELLIPSIS	 "\xe2\x80\xa6" /* U+2026 */
#define UTF8_MAX	 4		/* bytes of a sequence */

/* Valid UTF-8 without control characters; "" is. */
bool utf8_is_line(const char *text, size_t len);

/* A character that is one: neither NUL nor a surrogate, up to U+10FFFF. */
bool utf8_is_character(uint32_t c);

/* Writes a character; returns its bytes, 1–4. */
size_t utf8_put(char to[UTF8_MAX], uint32_t c);
