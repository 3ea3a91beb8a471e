/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Numbers as text, written where there is room: each put function returns where it stopped. A
 * picture has several of them for each frame, so they go digit by digit and call nothing.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define NUMBER_MAX 28 /* bytes that the longest of them takes */

/* 1234567 */
char *number_put(char *p, uint64_t value);

/* 1,234,567 */
char *number_put_grouped(char *p, uint64_t value);

/* `value` in units of 1 / 10^decimals (at most 3); `trim` leaves out zeros at the fraction's end.
 */
char *number_put_fixed(char *p, uint64_t value, int decimals, bool trim);

/* value / total in units of 1 / scale, rounded; exact for any 64-bit weight. 0 of a total of 0. */
uint64_t number_share(uint64_t value, uint64_t scale, uint64_t total);
