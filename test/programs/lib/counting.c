/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Preloaded, it stands between a program and glibc's allocator and counts, as often as somebody
 * else asks: bytes as they were asked for, a realloc() as a new allocation. For programs of one
 * thread.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);
void __libc_free(void *memory);

#define ROOM 65536

static struct {
	void *memory;
	size_t bytes;
} held[ROOM];

static uint64_t figures[4]; /* bytes, objects, held bytes, held objects */

static void *came(void *memory, size_t bytes)
{
	if (!memory)
		return NULL;
	figures[0] += bytes;
	figures[1]++;
	for (unsigned i = 0; i < ROOM; i++) {
		if (held[i].memory)
			continue;
		held[i].memory = memory;
		held[i].bytes = bytes;
		figures[2] += bytes;
		figures[3]++;
		return memory;
	}
	__builtin_trap();
}

static void went(void *memory)
{
	for (unsigned i = 0; i < ROOM; i++) {
		if (!memory || held[i].memory != memory)
			continue;
		held[i].memory = NULL;
		figures[2] -= held[i].bytes;
		figures[3]--;
		return;
	}
}

void *malloc(size_t bytes)
{
	return came(__libc_malloc(bytes), bytes);
}

void *calloc(size_t count, size_t bytes)
{
	return came(__libc_calloc(count, bytes), count * bytes);
}

void *realloc(void *old, size_t bytes)
{
	void *memory = __libc_realloc(old, bytes);

	if (memory || !bytes)
		went(old);
	return came(memory, bytes);
}

void free(void *memory)
{
	went(memory);
	__libc_free(memory);
}

/* What a program asks it for. */
void counted(uint64_t ret[4])
{
	for (unsigned i = 0; i < 4; i++)
		ret[i] = figures[i];
}
