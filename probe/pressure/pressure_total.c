// SPDX-License-Identifier: GPL-2.0-or-later
#include "pressure/pressure_total.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

void pressure_total_begin(struct pressure_total *total, uint32_t stall_us, uint32_t window_us)
{
	*total = (struct pressure_total){.window_ns = window_us * 1000ULL, .stall_us = stall_us};
}

static void drop_first(struct pressure_total *total)
{
	total->count--;
	memmove(&total->looks[0], &total->looks[1], total->count * sizeof(total->looks[0]));
}

/* Returns how much of the time from `from_ns` to the last look tasks were stalled, us. At most the
 * first look is before that. */
static double growth_since(const struct pressure_total *total, uint64_t from_ns)
{
	const struct pressure_look *first = &total->looks[0], *last = first + total->count - 1;
	double before_us = (double)first->total_us;

	if (first->at_ns < from_ns && last > first)
		before_us += (double)(first[1].total_us - first->total_us) *
			     (double)(from_ns - first->at_ns) /
			     (double)(first[1].at_ns - first->at_ns);
	return (double)last->total_us - before_us;
}

bool pressure_total_add(struct pressure_total *total, uint64_t at_ns, uint64_t total_us)
{
	uint64_t from_ns = at_ns > total->window_ns ? at_ns - total->window_ns : 0;
	const struct pressure_look *last = total->looks + total->count - 1;

	if (total->count && (total_us < last->total_us || at_ns <= last->at_ns))
		total->count = 0; /* it is another sum */
	while (total->count > 1 && total->looks[1].at_ns <= from_ns)
		drop_first(total);
	if (total->count == PRESSURE_LOOKS_MAX)
		drop_first(total);
	total->looks[total->count++] = (struct pressure_look){at_ns, total_us};
	/* Half a microsecond is for the doubles. */
	return growth_since(total, from_ns) + 0.5 >= (double)total->stall_us;
}

uint64_t pressure_total_growth(const struct pressure_total *total, uint64_t total_us)
{
	uint64_t before_us = total->count ? total->looks[total->count - 1].total_us : total_us;

	return total_us > before_us ? total_us - before_us : 0;
}

int pressure_total_read(const char *text, bool full, uint64_t *total_us)
{
	const char *line = text, *word = full ? "full " : "some ";

	while (line && strncmp(line, word, strlen(word)) != 0) {
		line = strchr(line, '\n');
		line = line ? line + 1 : NULL;
	}
	const char *end = line ? strchr(line, '\n') : NULL;
	const char *found = line ? strstr(line, " total=") : NULL;
	if (!found || (end && found > end))
		return -ENOENT;
	*total_us = strtoull(found + strlen(" total="), NULL, 10);
	return 0;
}
