// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/zeroed.h"

#include <stdlib.h>
#include <string.h>

#define LARGE 65536

void *zeroed(size_t count, size_t bytes)
{
	size_t all;

	if (__builtin_mul_overflow(count, bytes, &all) || all < LARGE)
		return calloc(count, bytes);
	void *memory = malloc(all);
	__asm__ volatile("" : "+r"(memory)); /* else a compiler makes it calloc() */
	return memory ? memset(memory, 0, all) : NULL;
}
