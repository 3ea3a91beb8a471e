/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mapper: maps and unmaps, by libc's functions, at sites of its own: parts are unmapped, ranges
 * mapped over, moved and grown. Between these, an allocator and the C library map for themselves.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "heap.h"

#define K ((size_t)1024)

LEVEL static void *map_at(void *where, size_t bytes, int flags)
{
	void *memory = mmap(where, bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

	given(memory);
	return memory == MAP_FAILED ? NULL : memory;
}

#define SITE(name)                                                                                 \
	LEVEL static void *name(void *where, size_t bytes, int flags)                              \
	{                                                                                          \
		return given(map_at(where, bytes, flags));                                         \
	}

SITE(map_keep)
SITE(map_drop)
SITE(map_elsewhere)
SITE(map_partial)
SITE(map_under)
SITE(map_over)
SITE(map_odd)
SITE(map_for_growing)
SITE(map_for_moving)
SITE(map_for_shrinking)
SITE(map_nothing)

LEVEL static void *remap(void *old, size_t old_bytes, size_t bytes, int flags, void *to)
{
	void *memory = mremap(old, old_bytes, bytes, flags, to);

	given(memory);
	if (memory == MAP_FAILED)
		abort();
	return memory;
}

#define RESITE(name)                                                                               \
	LEVEL static void *name(void *old, size_t old_bytes, size_t bytes, int flags, void *to)    \
	{                                                                                          \
		return given(remap(old, old_bytes, bytes, flags, to));                             \
	}

RESITE(remap_grow)
RESITE(remap_move)
RESITE(remap_shrink)

LEVEL static void unmap(void *memory, size_t bytes)
{
	if (munmap(memory, bytes))
		abort();
	keep_frame();
}

static void lose(const char *name, size_t bytes)
{
	site(name)->held_bytes -= bytes;
}

static void *drop_elsewhere(void *memory)
{
	unmap(memory, 64 * K);
	return NULL;
}

static void plain(void)
{
	for (unsigned i = 0; i < 10; i++) {
		pthread_t thread;

		took("map_keep", 64 * K, map_keep(NULL, 64 * K, 0));
		unmap(took("map_drop", 1024 * K, map_drop(NULL, 1024 * K, 0)), 1024 * K);
		gave("map_drop", 1024 * K);
		void *memory = took("map_elsewhere", 64 * K, map_elsewhere(NULL, 64 * K, 0));
		if (pthread_create(&thread, NULL, drop_elsewhere, memory) ||
		    pthread_join(thread, NULL))
			abort();
		gave("map_elsewhere", 64 * K);
		/* Ranges are of whole pages. */
		unmap(took("map_odd", 5000, map_odd(NULL, 5000, 0)), 4500);
		gave("map_odd", 5000);
	}
	add("map_nothing", 0, 0);
	if (map_nothing(NULL, unknown(0), 0))
		abort();
}

static void parts(void)
{
	char *memory = took("map_partial", 1024 * K, map_partial(NULL, 1024 * K, 0));

	unmap(memory + 256 * K, 256 * K); /* in the middle */
	unmap(memory, 64 * K);		  /* its begin */
	unmap(memory + 960 * K, 64 * K);  /* and its end */
	lose("map_partial", 384 * K);
	memory = took("map_under", 1024 * K, map_under(NULL, 1024 * K, 0));
	took("map_over", 512 * K, map_over(memory + 128 * K, 512 * K, MAP_FIXED));
	lose("map_under", 512 * K);
}

static void moves(void)
{
	char *memory = took("map_for_growing", 256 * K, map_for_growing(NULL, 256 * K, 0));

	took("remap_grow", 1024 * K, remap_grow(memory, 256 * K, 1024 * K, MREMAP_MAYMOVE, NULL));
	gave("map_for_growing", 256 * K);

	/* Onto a place that is free: where something was before. */
	char *place = map_at(NULL, 1024 * K, 0);
	unmap(place, 1024 * K);
	memory = took("map_for_moving", 256 * K, map_for_moving(NULL, 256 * K, 0));
	took("remap_move", 256 * K,
	     remap_move(memory, 256 * K, 256 * K, MREMAP_MAYMOVE | MREMAP_FIXED, place));
	gave("map_for_moving", 256 * K);

	memory = took("map_for_shrinking", 512 * K, map_for_shrinking(NULL, 512 * K, 0));
	took("remap_shrink", 128 * K, remap_shrink(memory, 512 * K, 128 * K, 0, NULL));
	gave("map_for_shrinking", 512 * K);
}

/* What is mapped on the program's behalf. */
static void not_own(void)
{
	for (unsigned i = 0; i < 100; i++) {
		void *memory = i % 2 ? given(malloc(1024 * K)) : given(calloc(1024, K));

		if (!memory)
			abort();
		if (i % 4 > 1)
			free(memory);
	}
}

int main(void)
{
	stand_by();
	plain();
	parts();
	moves();
	not_own();
	answer_sites();
	return 0;
}
