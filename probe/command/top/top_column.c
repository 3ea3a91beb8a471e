// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/top/top_column.h"

#include <errno.h>
#include <stdio.h>
#include <strings.h>

#define BIT(cost) (1u << (cost))

const struct top_column top_columns[TOP_COLUMNS] = {
	{"cpu", "%CPU", BIT(COST_RUN), COST_RUN, true, "time on a CPU; 100 is one CPU"},
	{"wait", "%WAIT", BIT(COST_DELAY), COST_DELAY, true,
	 "time in which threads could run and had no CPU"},
	{"switches", "SWITCH", BIT(COST_VOLUNTARY) | BIT(COST_INVOLUNTARY), COST_VOLUNTARY, false,
	 "switches away from its threads"},
	{"faults", "FAULTS", BIT(COST_MINOR) | BIT(COST_MAJOR), COST_MINOR, false, "page faults"},
	{"major", "MAJOR", BIT(COST_MAJOR), COST_MAJOR, false,
	 "page faults that waited for a disk"},
	{"calls", "CALLS", BIT(COST_READ_CALLS) | BIT(COST_WRITE_CALLS), COST_READ_CALLS, false,
	 "calls of read and write and their kin"},
	{"read", "READ", BIT(COST_READ_CHARS), COST_READ_CHARS, false, "bytes that these read"},
	{"write", "WRITE", BIT(COST_WRITE_CHARS), COST_WRITE_CHARS, false,
	 "bytes that these wrote"},
	{"disk_read", "DREAD", BIT(COST_READ_BYTES), COST_READ_BYTES, false,
	 "bytes read from disks"},
	{"disk_write", "DWRITE", BIT(COST_WRITE_BYTES), COST_WRITE_BYTES, false,
	 "bytes that will be written to disks"},
	{"migrations", "MIGR", BIT(COST_MIGRATIONS), COST_MIGRATIONS, false,
	 "moves of its threads to another CPU"},
};

int top_column_find(const char *name)
{
	for (int i = 0; i < TOP_COLUMNS; i++) {
		if (strcasecmp(top_columns[i].name, name) == 0)
			return i;
	}
	return -ENOENT;
}

uint64_t top_column_sum(unsigned column, const struct cost_sums *costs)
{
	uint64_t sum = 0;

	for (int i = 0; i < COSTS; i++)
		sum += top_columns[column].values & BIT(i) ? costs->of[i] : 0;
	return sum;
}

void top_cell_write(char cell[TOP_CELL_BYTES], unsigned column, double a_second)
{
	static const char units[] = " kMGTPE";
	unsigned unit = 0;

	if (top_columns[column].is_time) {
		snprintf(cell, TOP_CELL_BYTES, "%.1f", a_second / 1e7);
		return;
	}
	if (a_second < 999.5) {
		snprintf(cell, TOP_CELL_BYTES, "%.0f", a_second);
		return;
	}
	for (; a_second >= 999.5 && units[unit + 1]; unit++)
		a_second /= 1000;
	snprintf(cell, TOP_CELL_BYTES, a_second < 9.95 ? "%.1f%c" : "%.0f%c", a_second,
		 units[unit]);
}
