// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Pairs of malloc() and free() at a known depth: for each line "NUMBER" that it reads it makes so
 * many, of SIZE bytes, and prints how many ns one took. The stack is main;level (DEPTH - 2
 * times);pairs;malloc.
 * usage: pairs DEPTH SIZE
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void *volatile kept; /* the compiler may not drop a pair */

__attribute__((noinline)) static double pairs(long number, size_t size)
{
	double begin = now_ns();

	for (long i = 0; i < number; i++) {
		kept = malloc(size);
		free(kept);
	}
	return (now_ns() - begin) / (double)number;
}

__attribute__((noinline)) static double level(int depth, long number, size_t size)
{
	volatile double took = depth > 0 ? level(depth - 1, number, size) : pairs(number, size);

	return took;
}

int main(int argc, char **argv)
{
	static char line[64], out[256];
	int depth = argc > 1 ? atoi(argv[1]) : 20;
	size_t size = argc > 2 ? (size_t)atol(argv[2]) : 64;

	setvbuf(stdout, out, _IOLBF, sizeof(out));
	puts("ready");
	while (fgets(line, sizeof(line), stdin))
		printf("%.1f\n", level(depth - 3, atol(line), size));
	return 0;
}
