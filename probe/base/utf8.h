/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks and writes UTF-8 (Unicode 15, table 3-7): names from outside may hold any bytes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Returns how many bytes at the start of `text` (len > 0) form one valid UTF-8 sequence: 1–4; or 0
 * if none does (overlong forms, surrogates and values over U+10FFFF are invalid).
 */
size_t utf8_sequence(const char *text, size_t len);

/* Replaces bytes of a text that aren't UTF-8: a quoted text may have been cut within a character.
 */
void utf8_repair(char *text);

/* Like utf8_sequence(), but returns 0 also for characters that a line for people must not have:
 * control characters of ASCII and Latin-1 (a terminal obeys them), line separators, and marks that
 * change the direction of text. */
size_t utf8_printable(const char *text, size_t len);

#define UTF8_REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */
#define UTF8_ELLIPSIS	 "\xe2\x80\xa6" /* U+2026 */
#define UTF8_MAX	 4		/* bytes of a sequence */

/* Returns whether `text` is valid UTF-8 without control characters of ASCII; "" is. */
bool utf8_is_line(const char *text, size_t len);

/* Returns whether `c` is a character: neither NUL nor a surrogate, at most U+10FFFF. */
bool utf8_is_character(uint32_t c);

/* Writes the character `c` as UTF-8. Returns the number of bytes, 1–4. */
size_t utf8_put(char to[UTF8_MAX], uint32_t c);
