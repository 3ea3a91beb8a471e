// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/text/chart.h"

#include <string.h>

/* Returns how many rows are shown; *highest is the highest count. */
static size_t rows_of(const uint64_t *slots, size_t count, uint64_t *highest)
{
	size_t rows = 0;

	*highest = 0;
	for (size_t i = 0; i < count; i++) {
		if (slots[i])
			rows = i + 1;
		if (slots[i] > *highest)
			*highest = slots[i];
	}
	return rows;
}

static void put_bar(struct buf *out, uint64_t value, uint64_t highest)
{
	char bar[CHART_BAR];
	size_t stars = (size_t)((double)value / (double)highest * CHART_BAR);

	memset(bar, ' ', sizeof(bar));
	memset(bar, '*', stars < sizeof(bar) ? stars : sizeof(bar));
	buf_printf(out, ": %-8llu |", (unsigned long long)value);
	buf_add(out, bar, sizeof(bar));
	buf_str(out, "|\n");
}

static void put_head(struct buf *out, const char *unit)
{
	buf_printf(out, "     %-19s : count    distribution\n", unit);
}

void chart_rows(struct buf *out, const char *unit, const struct chart_row *rows, size_t count)
{
	uint64_t highest = 0;

	put_head(out, unit);
	for (size_t i = 0; i < count; i++) {
		if (rows[i].count > highest)
			highest = rows[i].count;
	}
	for (size_t i = 0; i < count; i++) {
		buf_printf(out, "%10llu -> %-10llu ", (unsigned long long)rows[i].from,
			   (unsigned long long)rows[i].to);
		put_bar(out, rows[i].count, highest);
	}
}

void chart_powers(struct buf *out, const char *unit, const uint64_t *slots, size_t count)
{
	uint64_t highest;
	size_t rows = rows_of(slots, count, &highest);

	put_head(out, unit);
	for (size_t i = 0; i < rows; i++) {
		unsigned long long from = i ? 1ULL << (i - 1) : 0, until = 1ULL << i;

		if (i + 1 < count)
			buf_printf(out, "%10llu -> %-10llu ", from, until - 1);
		else
			buf_printf(out, "%10llu -> %-10s ", from, "...");
		put_bar(out, slots[i], highest);
	}
}

void chart_linear(struct buf *out, const char *unit, const uint64_t *slots, size_t count)
{
	uint64_t highest;
	size_t rows = rows_of(slots, count, &highest);

	buf_printf(out, "     %-13s : count    distribution\n", unit);
	for (size_t i = 0; i < rows; i++) {
		buf_printf(out, "        %-9zu%c ", i, i + 1 < count ? ' ' : '+');
		put_bar(out, slots[i], highest);
	}
}
