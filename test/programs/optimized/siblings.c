/* SPDX-License-Identifier: GPL-2.0-only */
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
	uint64_t ns = seconds_ns(argc > 1 ? argv[1] : "1"), now = 0, sides[2] = {0}, x = 1;
	unsigned seed = 5;

	while (now < ns) {
		int side = rand_r(&seed) % 10 >= 7;
		uint64_t began = thread_cpu_ns();

		x = side ? right(x) : left(x);
		now = thread_cpu_ns();
		sides[side] += now - began;
	}
	printf("{\"left\": %" PRIu64 ", \"right\": %" PRIu64 "}\n", sides[0], sides[1]);
	return 0;
}
