/* SPDX-License-Identifier: GPL-2.0-or-later */
/* THE TABLE of what `top` shows of a row, and by what it sorts. Constant. */
#pragma once

#include <stdbool.h>

#include "bpf/shared/process_cost.h"

struct top_column {
	const char *name;  /* in --by */
	const char *title; /* above the column */
	uint32_t values;   /* their sum: 1 << enum cost */
	enum cost key;	   /* of these, the one by which the daemon is asked to sort */
	bool is_time;	   /* ns a second are shown as a share of one CPU, in percent */
	const char *what;  /* for people */
};

#define TOP_COLUMNS 11
extern const struct top_column top_columns[TOP_COLUMNS];

/* Returns the number of a column, by its name (any case), or -ENOENT. */
int top_column_find(const char *name);

/* Returns what a row has in a column, in an interval. */
uint64_t top_column_sum(unsigned column, const struct cost_sums *costs);

#define TOP_CELL_BYTES 8
/* Writes a value a second, at most six characters: "12.5", "1.3k", "870M". */
void top_cell_write(char cell[TOP_CELL_BYTES], unsigned column, double a_second);
