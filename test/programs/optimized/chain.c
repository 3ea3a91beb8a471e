/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * chain DEPTH SECONDS [ticks]: burns in main -> f000 -> f001 -> … -> bottom, DEPTH frames below
 * main (2 to 1,001). Frames have different sizes, and every third uses the frame pointer's register
 * for its own ends. (No function is static: link-time optimization would rename it.) With `ticks`,
 * bottom makes a system call and calls tick() every few microseconds.
 */
#include <stdio.h>
#include <sys/syscall.h>

#include "level.h"

#define LEVELS 1000

typedef uint64_t level(long depth, uint64_t ns);

extern level *const levels[LEVELS];
static int ticks;

LEVEL uint64_t tick(uint64_t x)
{
	return burn_rounds(x, 101);
}

LEVEL uint64_t bottom(uint64_t ns)
{
	uint64_t start = thread_cpu_ns(), x = start;

	if (!ticks)
		return burn_ns(ns);
	while (thread_cpu_ns() - start < ns) {
		for (int i = 0; i < 100; i++) {
			x = burn_rounds(x, 5003);
			call_kernel(SYS_getppid, NULL);
			x = tick(x);
		}
	}
	return x;
}

BURN_INLINE uint64_t go_on(int number, long depth, uint64_t ns)
{
	return number + 2 < depth ? levels[number + 1](depth, ns) : bottom(ns);
}

/* clang-format off */
/* 1##n, for 0##n would be octal. */
#define ONE(n)                                                          \
	LEVEL uint64_t f##n(long depth, uint64_t ns)                    \
	{                                                               \
		char room[1 + (1##n - 1000) * 37 % 300];                \
									\
		__asm__ volatile("" : : "r"(room) : "memory");          \
		if (1##n % 3 == 0)                                      \
			use_frame_register();                           \
		return go_on(1##n - 1000, depth, ns);                   \
	}

#define TEN(each, n)                                                    \
	each(n##0) each(n##1) each(n##2) each(n##3) each(n##4)          \
	each(n##5) each(n##6) each(n##7) each(n##8) each(n##9)
#define HUNDRED(each, n)                                                \
	TEN(each, n##0) TEN(each, n##1) TEN(each, n##2) TEN(each, n##3) \
	TEN(each, n##4) TEN(each, n##5) TEN(each, n##6) TEN(each, n##7) \
	TEN(each, n##8) TEN(each, n##9)
#define ALL(each)                                                       \
	HUNDRED(each, 0) HUNDRED(each, 1) HUNDRED(each, 2)              \
	HUNDRED(each, 3) HUNDRED(each, 4) HUNDRED(each, 5)              \
	HUNDRED(each, 6) HUNDRED(each, 7) HUNDRED(each, 8)              \
	HUNDRED(each, 9)
/* clang-format on */

ALL(ONE)

#define NAME(n) f##n,
level *const levels[LEVELS] = {ALL(NAME)};

int main(int argc, char **argv)
{
	long depth = argc > 1 ? atol(argv[1]) : 0;

	if (argc < 3 || depth < 2 || depth > LEVELS + 1) {
		fprintf(stderr, "usage: chain DEPTH SECONDS [ticks]\n");
		return 2;
	}
	ticks = argc > 3;
	f000(depth, seconds_ns(argv[2]));
	return 0;
}
