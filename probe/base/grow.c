// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/grow.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define LARGE 65536 /* bytes */

void *array_grown(void *array, size_t *capacity, size_t needed, size_t first, size_t bytes)
{
	size_t room = *capacity ? *capacity : first;

	if (needed <= *capacity)
		return array;
	while (room < needed && room <= SIZE_MAX / 2)
		room *= 2;
	if (room < needed)
		return NULL;
	void *grown = reallocarray(array, room, bytes);
	if (grown)
		*capacity = room;
	return grown;
}

void *zeroed(size_t count, size_t bytes)
{
	size_t all;

	if (__builtin_mul_overflow(count, bytes, &all) || all < LARGE)
		return calloc(count, bytes);
	void *memory = malloc(all);
	__asm__ volatile("" : "+r"(memory)); /* else a compiler makes it calloc() */
	return memory ? memset(memory, 0, all) : NULL;
}
