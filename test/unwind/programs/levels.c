/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * levels SECONDS: burns in main -> level_1 -> … -> level_20 -> bottom. Each level is a function of
 * its own with a frame of its own: few or many saved registers, small and large arrays, arguments
 * on the stack, an aligned or a variable array. bottom works between the calls of a leaf, too.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "burn.h"

#define LEVEL static __attribute__((noinline))

static volatile uint64_t sink;

LEVEL uint64_t leaf(uint64_t x, uint64_t rounds)
{
	for (uint64_t i = 0; i < rounds; i++) {
		x = x * UINT64_C(6364136223846793005) + i;
		__asm__ volatile("" : "+r"(x));
	}
	return x;
}

LEVEL uint64_t bottom(uint64_t x)
{
	uint64_t a = leaf(x, 300), b = leaf(a, 20), c = leaf(b, 100);
	char text[64];

	/* Through a library and its PLT. */
	snprintf(text, sizeof(text), "%llu %llu", (unsigned long long)a, (unsigned long long)c);
	return a ^ b ^ c ^ (uint64_t)strlen(text);
}

/* Little: perhaps no frame but the return address. */
#define SMALL(name, next)                                                                          \
	LEVEL uint64_t name(uint64_t x)                                                            \
	{                                                                                          \
		return next(x + 1) + 1;                                                            \
	}

/* An array on the stack, of so many words. */
#define ARRAY(name, next, words)                                                                   \
	LEVEL uint64_t name(uint64_t x)                                                            \
	{                                                                                          \
		volatile uint64_t a[words];                                                        \
		a[x % (words)] = x;                                                                \
		a[0] = next(a[x % (words)] + 1);                                                   \
		return a[0] + x;                                                                   \
	}

/* Much that is alive over the calls: all saved registers. */
#define CROWDED(name, next)                                                                        \
	LEVEL uint64_t name(uint64_t x)                                                            \
	{                                                                                          \
		uint64_t a = x * 3, b = x * 5, c = x * 7, d = x * 11, e = x * 13, f = x * 17;      \
		__asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e));                \
		f += next(a ^ f);                                                                  \
		return a + b + c + d + e + f + leaf(f, 5);                                         \
	}

/* Arguments on the stack. */
#define CALLER(name, next)                                                                         \
	LEVEL uint64_t name##_callee(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e,   \
				     uint64_t f, uint64_t g, uint64_t h)                           \
	{                                                                                          \
		return next(a + b + c + d) + e + f + g + h;                                        \
	}                                                                                          \
	LEVEL uint64_t name(uint64_t x)                                                            \
	{                                                                                          \
		return name##_callee(x, 1, 2, 3, 4, 5, 6, x) + 1;                                  \
	}

/* A frame whose size isn't known before it runs. */
#define VARIABLE(name, next)                                                                       \
	LEVEL uint64_t name(uint64_t x)                                                            \
	{                                                                                          \
		volatile unsigned char *a = __builtin_alloca(16 + x % 200);                        \
		a[x % 16] = (unsigned char)x;                                                      \
		return next(x + a[x % 16]) + a[0];                                                 \
	}

/* A frame that is aligned to more than the stack is. */
#define ALIGNED(name, next)                                                                        \
	LEVEL uint64_t name(uint64_t x)                                                            \
	{                                                                                          \
		volatile uint64_t a[8] __attribute__((aligned(64)));                               \
		a[x % 8] = x;                                                                      \
		a[0] = next(x + a[x % 8]);                                                         \
		return a[0] + 1;                                                                   \
	}

SMALL(level_20, bottom)
ARRAY(level_19, level_20, 3)
CROWDED(level_18, level_19)
CALLER(level_16, level_18) /* and level_17, its callee */
VARIABLE(level_15, level_16)
ALIGNED(level_14, level_15)
ARRAY(level_13, level_14, 200)
SMALL(level_12, level_13)
CROWDED(level_11, level_12)
ALIGNED(level_10, level_11)
SMALL(level_9, level_10)
CALLER(level_7, level_9)
ARRAY(level_6, level_7, 30)
VARIABLE(level_5, level_6)
CROWDED(level_4, level_5)
SMALL(level_3, level_4)
ARRAY(level_2, level_3, 1)
SMALL(level_1, level_2)

int main(int argc, char **argv)
{
	uint64_t ns = seconds_ns(argc > 1 ? argv[1] : "1"), x = (uint64_t)argc;

	while (thread_cpu_ns() < ns)
		for (int i = 0; i < 1000; i++)
			x = level_1(x & 0xffff);
	sink = x;
	return 0;
}
