/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Numbers as text. A put function writes at `p`, where NUMBER_MAX bytes must have room, and returns
 * the end of what it wrote, without a NUL. A picture has several numbers for each frame, so these
 * functions write digit by digit and don't call printf().
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define NUMBER_MAX 28 /* bytes of the longest number */

/* Writes 1234567. */
char *number_put(char *p, uint64_t value);

/* Writes 1,234,567. */
char *number_put_grouped(char *p, uint64_t value);

/* Writes `value` / 10^decimals (`decimals` is at most 3); `trim` drops trailing zeros of the
 * fraction. */
char *number_put_fixed(char *p, uint64_t value, int decimals, bool trim);

/*
 * Writes an amount as people read it, with three digits or so: of "us" "48.8 s", of "bytes" "7
 * MiB". Returns `p`, with nothing written, where the number itself is easy to read: under 10 ms and
 * 10 KiB, and of other units.
 */
char *number_put_amount(char *p, uint64_t value, const char *unit);

/* Returns value * scale / total, rounded, with 128 bits between; 0 if `total` is 0. */
uint64_t number_share(uint64_t value, uint64_t scale, uint64_t total);
