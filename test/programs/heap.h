/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Allocations with a known answer for the test programs: a site is a function that allocates, and
 * the program itself counts what it was given there and what of it is left. Sizes are those that
 * were asked for. Nothing here allocates, but printf() at the end.
 *
 * A program stands by (wait.h) before it begins and when it has told its answer.
 */
#pragma once

#include <string.h>

#include "wait.h"

#define SITES_MAX 64

struct site {
	const char *name;
	uint64_t bytes, objects; /* that it was given */
	uint64_t held_bytes, held_objects;
};

static struct site sites[SITES_MAX];

/* The site of that name; made if need be. */
static inline struct site *site(const char *name)
{
	for (unsigned i = 0; i < SITES_MAX; i++) {
		if (!sites[i].name)
			sites[i].name = name;
		if (strcmp(sites[i].name, name) == 0)
			return &sites[i];
	}
	abort();
}

/* What was returned, so that the compiler neither leaves the call out nor makes a jump of it. */
BURN_INLINE void *given(void *memory)
{
	keep_frame();
	__asm__ volatile("" : "+r"(memory) : : "memory");
	return memory;
}

/* A number that the compiler doesn't know. */
BURN_INLINE size_t unknown(size_t number)
{
	__asm__ volatile("" : "+r"(number));
	return number;
}

static inline void add(const char *name, uint64_t bytes, uint64_t objects)
{
	struct site *at = site(name);

	at->bytes += bytes;
	at->objects += objects;
	at->held_bytes += bytes;
	at->held_objects += objects;
}

/* One allocation at that site; a program whose memory is not there has no answer. */
static inline void *took(const char *name, uint64_t bytes, void *memory)
{
	if (!memory)
		abort();
	add(name, bytes, 1);
	return memory;
}

/* One of that site is no more. */
static inline void gave(const char *name, uint64_t bytes)
{
	site(name)->held_bytes -= bytes;
	site(name)->held_objects--;
}

/* "sites": {…}, as a member of a JSON object. */
static inline void sites_print(void)
{
	printf("\"sites\": {");
	for (unsigned i = 0; i < SITES_MAX && sites[i].name; i++)
		printf("%s\"%s\": [%" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu64 "]",
		       i ? ", " : "", sites[i].name, sites[i].bytes, sites[i].objects,
		       sites[i].held_bytes, sites[i].held_objects);
	printf("}");
}

/* The whole answer, and a rest. */
static inline void answer_sites(void)
{
	printf("{");
	sites_print();
	printf("}\n");
	stand_by();
}
