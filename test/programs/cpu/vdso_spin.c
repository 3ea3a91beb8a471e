/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vdso_spin SECONDS: reads the clock, and does nothing else, for that much CPU time. */
#include "burn.h"

static void read_clock(uint64_t ns)
{
	struct timespec now;

	while (thread_cpu_ns() < ns)
		for (int i = 0; i < 100000; i++)
			clock_gettime(CLOCK_MONOTONIC, &now);
}

int main(int argc, char **argv)
{
	read_clock(seconds_ns(argc > 1 ? argv[1] : "1"));
	return 0;
}
