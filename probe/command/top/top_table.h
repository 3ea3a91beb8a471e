/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of `top` with what they cost in the last intervals; sorted and filtered. */
#pragma once

#include "command/top/top_column.h"
#include "command/top/top_reading.h"

#define TOP_PAST 10 /* intervals that are kept of each row */

struct top_row {
	struct top_owner owner;
	/* what it cost in each of the last intervals, values a second; the last one is the latest
	 */
	double past[TOP_PAST][TOP_COLUMNS];
	bool is_gone; /* not in the last reading: nothing of it was counted there */
};

struct top_table {
	struct top_row *rows; /* sorted; those that the filter leaves out are behind `shown` */
	size_t count, shown;
	struct top_row all;    /* the sum */
	double busy[TOP_PAST]; /* share of the CPUs' time that wasn't idle */
	unsigned column;       /* by which it is sorted */
	bool from_small;
	char filter[OWNER_BYTES];
	struct top_reading last; /* without its rows */
};

/* Takes over what a reading tells. Returns 0 or -ENOMEM. */
int top_table_take(struct top_table *table, const struct top_reading *reading);

/* Sorts and filters anew, after `column`, `from_small` or `filter` has changed. */
void top_table_sort(struct top_table *table);

/* Forgets all rows. */
void top_table_clear(struct top_table *table);

/* Returns the place of the row of an owner, or -ENOENT. */
ssize_t top_table_find(const struct top_table *table, const struct top_owner *owner);

/* Returns what a row costs now, a second. */
double top_row_now(const struct top_row *row, unsigned column);
