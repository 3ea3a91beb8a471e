/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rounds SECONDS: goes down main -> r00 -> … -> r20 and up again, some 3 microseconds a round, with
 * work on each level: no two stacks need be the same. For benches.
 */
#include "level.h"

typedef uint64_t level(uint64_t x);

extern level *const levels[];

BURN_INLINE uint64_t go_down(int number, uint64_t x)
{
	return number < 20 ? levels[number + 1](x) : burn_rounds(x, 100);
}

/* clang-format off */
#define ONE(n)                                                     \
	LEVEL static uint64_t r##n(uint64_t x)                     \
	{                                                          \
		char room[1 + (1##n - 100) * 37 % 200];            \
								   \
		__asm__ volatile("" : : "r"(room) : "memory");     \
		x = go_down(1##n - 100, burn_rounds(x, 50));       \
		return burn_rounds(x, 50);                         \
	}

#define TEN(each, n)                                               \
	each(n##0) each(n##1) each(n##2) each(n##3) each(n##4)     \
	each(n##5) each(n##6) each(n##7) each(n##8) each(n##9)
#define ALL(each) TEN(each, 0) TEN(each, 1) each(20)
/* clang-format on */

ALL(ONE)

#define NAME(n) r##n,
level *const levels[] = {ALL(NAME)};

int main(int argc, char **argv)
{
	uint64_t ns = seconds_ns(argc > 1 ? argv[1] : "1"), x = 1;

	while (thread_cpu_ns() < ns) {
		for (int i = 0; i < 1000; i++)
			x = r00(x);
	}
	return x == 5;
}
