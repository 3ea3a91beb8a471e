/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sizes MEGABYTES [FUNCTION]: so many at each of four sites, in blocks of 200, 3,000, 20,000 and
 * 200,000 bytes, by malloc (the default), calloc, realloc, reallocarray, posix_memalign or
 * aligned_alloc; every other block is freed. Then it stands by.
 */
#define _GNU_SOURCE
#include "heap.h"

LEVEL static void *by_calloc(size_t bytes)
{
	return given(calloc(1, bytes));
}

LEVEL static void *by_realloc(size_t bytes)
{
	return given(realloc(NULL, bytes));
}

LEVEL static void *by_reallocarray(size_t bytes)
{
	return given(reallocarray(NULL, 1, bytes));
}

LEVEL static void *by_posix_memalign(size_t bytes)
{
	void *memory = NULL;

	if (posix_memalign(&memory, 64, bytes))
		abort();
	return given(memory);
}

LEVEL static void *by_aligned_alloc(size_t bytes)
{
	return given(aligned_alloc(64, bytes));
}

static const struct {
	const char *name;
	void *(*call)(size_t bytes);
} functions[] = {{"malloc", malloc},
		 {"calloc", by_calloc},
		 {"realloc", by_realloc},
		 {"reallocarray", by_reallocarray},
		 {"posix_memalign", by_posix_memalign},
		 {"aligned_alloc", by_aligned_alloc}};

static void *(*allocate)(size_t bytes);

#define SITE(name)                                                                                 \
	LEVEL static void *name(size_t bytes)                                                      \
	{                                                                                          \
		return given(allocate(bytes));                                                     \
	}

SITE(tiny)
SITE(small)
SITE(middle)
SITE(large)

static const struct {
	const char *name;
	void *(*take)(size_t bytes);
	size_t bytes;
} kinds[] = {{"tiny", tiny, 200},
	     {"small", small, 3000},
	     {"middle", middle, 20000},
	     {"large", large, 200000}};

int main(int argc, char **argv)
{
	uint64_t megabytes = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
	const char *function = argc > 2 ? argv[2] : "malloc";

	for (unsigned i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		if (strcmp(functions[i].name, function) == 0)
			allocate = functions[i].call;
	}
	if (!megabytes || !allocate)
		return 2;
	stand_by();
	for (unsigned kind = 0; kind < sizeof(kinds) / sizeof(kinds[0]); kind++) {
		size_t bytes = kinds[kind].bytes;
		uint64_t pairs = megabytes * 1000000 / bytes / 2;
		struct site *at = site(kinds[kind].name);

		for (uint64_t i = 0; i < pairs; i++) {
			void *gone = kinds[kind].take(bytes);

			if (!gone || !kinds[kind].take(bytes))
				abort();
			free(gone);
		}
		at->objects = 2 * pairs;
		at->bytes = 2 * pairs * bytes;
		at->held_objects = pairs;
		at->held_bytes = pairs * bytes;
	}
	answer_sites();
	return 0;
}
