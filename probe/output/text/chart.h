/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A histogram as a chart of text, in the form that users of bcc's tools know:
 *
 *	     usecs               : count    distribution
 *	         4 -> 7          : 25       |********************                    |
 *
 * Rows from zero to the last one that counted something; the longest bar has CHART_BAR stars.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define CHART_BAR 40

/* Slots are [0, 1), [1, 2), [2, 4), [4, 8), … and the last one is open. */
void chart_powers(struct buf *out, const char *unit, const uint64_t *slots, size_t count);

/* Slots are 0, 1, 2, … and the last one means that or more. */
void chart_linear(struct buf *out, const char *unit, const uint64_t *slots, size_t count);
