// SPDX-License-Identifier: GPL-2.0-or-later
#include "loop/loop_stalls.h"

static const struct measure_label cause = {.name = "cause"};

static void write_longest(struct buf *out, const struct measure *row, const void *stats)
{
	const struct loop_stalls *stalls = stats;

	for (int i = 0; i < LOOP_CAUSES_MAX && stalls->causes[i]; i++)
		buf_printf(out, "stackprobe_%s{cause=\"%s\"} %llu.%06llu\n", row->name,
			   stalls->causes[i], (unsigned long long)stalls->longest_us[i] / 1000000,
			   (unsigned long long)stalls->longest_us[i] % 1000000);
}

static double longest_turn_s(const void *stats)
{
	const struct loop_stalls *stalls = stats;

	return (double)stalls->longest_turn_us / 1e6;
}

static const struct measure rows[] = {
	{"loop_longest_stall_seconds", NULL, GAUGE,
	 "The longest time that the loop was busy with one thing since the start, by what it was.",
	 MEASURE_EACH_NAMED(loop_stalls, longest_us, &cause, causes), .lines = write_longest},
	{NULL, "longest_us", GAUGE, "The same in microseconds.",
	 MEASURE_EACH_NAMED(loop_stalls, longest_us, &cause, causes)},
	{"loop_stalls_total", "stalls", COUNTER,
	 "Times that the loop was busy with one thing for more than 100 ms, by what it was.",
	 MEASURE_EACH_NAMED(loop_stalls, stalls, &cause, causes)},
	{"loop_longest_turn_seconds", NULL, GAUGE,
	 "The longest time since the start between two looks of the loop at what is new: all that "
	 "was due then.",
	 .seconds = longest_turn_s},
	{NULL, "longest_turn_us", GAUGE, "The same in microseconds.",
	 MEASURE_AT(loop_stalls, longest_turn_us)},
};

const struct measures loop_measures = {"The loop", "status.loop", MEASURE_ROWS(rows)};
