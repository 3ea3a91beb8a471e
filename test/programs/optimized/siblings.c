/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * siblings SECONDS: burns in main -> left or right -> common -> helper, whose frames lie at the
 * same addresses whichever way was taken: pc, sp and fp tell nothing. 7 of 10 turns go left, by
 * chance. Prints the CPU time of each side.
 */
#include <inttypes.h>
#include <stdio.h>

#include "level.h"

/* Most of the time goes by in one instruction, so that pc is the same, too. */
LEVEL static uint64_t helper(uint64_t x)
{
#if defined(__x86_64__)
	static char room[65536];

	for (int i = 0; i < 20; i++) {
		void *to = room;
		size_t bytes = sizeof(room);

		__asm__ volatile("rep stosb" : "+D"(to), "+c"(bytes) : "a"(x) : "memory");
	}
	return x;
#else
	return burn_rounds(x, 30011);
#endif
}

/* What main keeps in registers would tell the turns apart. */
LEVEL static uint64_t common(uint64_t x)
{
#if defined(__x86_64__)
	__asm__ volatile("xor %%ebp, %%ebp\n\txor %%ebx, %%ebx" : : : "rbp", "rbx");
#else
	use_frame_register();
#endif
	return helper(x) + 1;
}

LEVEL static uint64_t left(uint64_t x)
{
	char room[100];

	__asm__ volatile("" : : "r"(room) : "memory");
	return common(x) + 1;
}

LEVEL static uint64_t right(uint64_t x)
{
	char room[100];

	__asm__ volatile("" : : "r"(room) : "memory");
	return common(x) + 2;
}

int main(int argc, char **argv)
{
	uint64_t ns = seconds_ns(argc > 1 ? argv[1] : "1"), turns[2] = {0}, x = 1;
	unsigned seed = 5;

	while (thread_cpu_ns() < ns) {
		for (int i = 0; i < 1000; i++) {
			int side = rand_r(&seed) % 10 >= 7;

			x = side ? right(x) : left(x);
			turns[side]++;
		}
	}
	printf("{\"left\": %" PRIu64 ", \"right\": %" PRIu64 "}\n", turns[0], turns[1]);
	return 0;
}
