/* SPDX-License-Identifier: GPL-2.0-or-later */
/* deep DEPTH SECONDS: burns in main -> level × DEPTH -> bottom. */
#include <stdio.h>

#include "burn.h"

static uint64_t bottom(uint64_t ns)
{
	return burn_ns(ns);
}

static uint64_t level(long depth, uint64_t ns)
{
	uint64_t took_ns = depth > 1 ? level(depth - 1, ns) : bottom(ns);

	/* Something is left to do after the call: each level keeps its frame. */
	__asm__ volatile("" : "+r"(took_ns));
	return took_ns;
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "usage: deep DEPTH SECONDS\n");
		return 2;
	}
	level(atol(argv[1]), seconds_ns(argv[2]));
	return 0;
}
