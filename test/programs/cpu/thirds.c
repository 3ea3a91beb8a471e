/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * thirds SECONDS: three functions spend 60, 30 and 10 % of that CPU time.
 *
 * Next to run is the function furthest behind its share, for a number of rounds drawn at random
 * (0.1 to 3 ms): shares are exact to one phase, and no sampling period keeps step. (A fixed cycle
 * of prime lengths did keep step with 1 ms: 57.9 % of 11,000 samples where 60 were burned. So did,
 * less often, phases of 0.1 to 0.5 ms: ten of them, a cycle of the three, take about 3 ms;
 * once 62.1 %.)
 */
#include <inttypes.h>
#include <stdio.h>

#include "burn.h"

static void sixty(uint64_t rounds)
{
	burn_rounds(rounds, rounds);
}

static void thirty(uint64_t rounds)
{
	burn_rounds(rounds, rounds);
}

static void ten(uint64_t rounds)
{
	burn_rounds(rounds, rounds);
}

static struct share {
	const char *name;
	void (*run)(uint64_t rounds);
	unsigned percent;
	uint64_t ns;
} shares[] = {
	{"sixty", sixty, 60, 0},
	{"thirty", thirty, 30, 0},
	{"ten", ten, 10, 0},
};

static struct share *furthest_behind(void)
{
	struct share *found = &shares[0];

	for (unsigned i = 1; i < 3; i++)
		if (shares[i].ns * found->percent < found->ns * shares[i].percent)
			found = &shares[i];
	return found;
}

int main(int argc, char **argv)
{
	uint64_t random = 1;
	uint64_t end = seconds_ns(argc > 1 ? argv[1] : "10");
	uint64_t before = thread_cpu_ns();

	while (before < end) {
		struct share *share = furthest_behind();
		random = burn_rounds(random, 1);
		share->run(70001 + (random >> 43));
		uint64_t after = thread_cpu_ns();
		share->ns += after - before;
		before = after;
	}
	printf("{\"cpu_ns\": %" PRIu64, thread_cpu_ns());
	for (unsigned i = 0; i < 3; i++)
		printf(", \"%s\": %" PRIu64, shares[i].name, shares[i].ns);
	printf("}\n");
	return 0;
}
