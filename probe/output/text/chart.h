/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Histogram printer: writes counts as a chart of text, in the form of bcc's tools:
 *
 *	     usecs               : count    distribution
 *	         4 -> 7          : 25       |********************                    |
 *
 * The rows of slots go from slot 0 to the last slot that is not 0; the longest bar has CHART_BAR
 *stars.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define CHART_BAR 40

/* Adds the chart of `count` slots [0, 1), [1, 2), [2, 4), [4, 8), …; the last slot is open. */
void chart_powers(struct buf *out, const char *unit, const uint64_t *slots, size_t count);

struct chart_row {
	uint64_t from, to; /* first and last value */
	uint64_t count;
};

/* Adds the chart of these rows, as they are. */
void chart_rows(struct buf *out, const char *unit, const struct chart_row *rows, size_t count);

/* Adds the chart of `count` slots 0, 1, 2, …; the last slot means its number or more. */
void chart_linear(struct buf *out, const char *unit, const uint64_t *slots, size_t count);
