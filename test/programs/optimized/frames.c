/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * frames SECONDS: burns below frames of every kind that compilers make:
 * main -> vla_frame (its size is known at run time) -> many_arguments (pushed) -> big_frame
 * (100,000 bytes) -> drap_frame (aligned, and of a size known at run time) -> aligned_frame ->
 * bottom.
 */
#include <alloca.h>
#include <string.h>

#include "level.h"

#define TOUCH(at) __asm__ volatile("" : : "r"(at) : "memory")

LEVEL static uint64_t bottom(uint64_t ns)
{
	use_frame_register();
	return burn_ns(ns);
}

LEVEL static uint64_t aligned_frame(uint64_t ns)
{
	char line[64] __attribute__((aligned(64)));

	TOUCH(line);
	return bottom(ns);
}

LEVEL static uint64_t drap_frame(size_t bytes, uint64_t ns)
{
	char line[128] __attribute__((aligned(128)));
	char *more = alloca(bytes);

	memset(more, 0, bytes);
	TOUCH(line);
	TOUCH(more);
	return aligned_frame(ns);
}

LEVEL static uint64_t big_frame(uint64_t ns)
{
	char big[100000];

	memset(big, 1, sizeof(big));
	TOUCH(big);
	return drap_frame(5000, ns);
}

LEVEL static uint64_t many_arguments(int a, int b, int c, int d, int e, int f, uint64_t g, int h,
				     uint64_t ns)
{
	TOUCH(&g);
	return big_frame(ns) + (uint64_t)(a + b + c + d + e + f + h);
}

LEVEL static uint64_t vla_frame(size_t bytes, uint64_t ns)
{
	char room[bytes];

	memset(room, 1, bytes);
	TOUCH(room);
	return many_arguments(1, 2, 3, 4, 5, 6, 7, 8, ns);
}

int main(int argc, char **argv)
{
	return vla_frame(1000 + (size_t)argc, seconds_ns(argc > 1 ? argv[1] : "1")) == 1;
}
