// SPDX-License-Identifier: GPL-2.0-or-later
#include "loop/loop_stalls.h"

#include <string.h>

void loop_stalls_init(struct loop_stalls *stalls)
{
	*stalls = (struct loop_stalls){.causes = {"other"}};
}

/* Returns the place of a cause that is known, or that of the first free one; LOOP_CAUSES_MAX if
 * there is none. */
static unsigned find_cause(const struct loop_stalls *stalls, const char *cause)
{
	unsigned i;

	for (i = 0; i < LOOP_CAUSES_MAX && stalls->causes[i]; i++) {
		if (stalls->causes[i] == cause)
			return i;
	}
	/* The same text may stand at two places of the program. */
	for (unsigned j = 0; j < i; j++) {
		if (strcmp(stalls->causes[j], cause) == 0)
			return j;
	}
	return i;
}

static unsigned place_of(struct loop_stalls *stalls, const char *cause)
{
	unsigned place = cause ? find_cause(stalls, cause) : 0;

	if (place == LOOP_CAUSES_MAX)
		return 0;
	if (!stalls->causes[place])
		stalls->causes[place] = cause;
	return place;
}

void loop_stalls_add(struct loop_stalls *stalls, const char *cause, uint64_t took_ns)
{
	unsigned place = place_of(stalls, cause);

	if (took_ns / 1000 > stalls->longest_us[place])
		stalls->longest_us[place] = took_ns / 1000;
	if (took_ns > LOOP_STALL_NS)
		stalls->stalls[place]++;
}

void loop_stalls_add_turn(struct loop_stalls *stalls, uint64_t took_ns)
{
	if (took_ns / 1000 > stalls->longest_turn_us)
		stalls->longest_turn_us = took_ns / 1000;
}
