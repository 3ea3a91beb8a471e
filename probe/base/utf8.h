/* SPDX-License-Identifier: GPL-2.0-only */
/* Names from the world outside as valid UTF-8. */
#pragma once

#include <stddef.h>

/*
 * How many bytes of `text` (at least one is there) form one valid UTF-8 sequence: 1–4, or 0 when
 * the first byte begins none (overlong forms, surrogates and values over U+10FFFF are invalid).
 */
size_t utf8_sequence(const char *text, size_t len);

#define UTF8_REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */
