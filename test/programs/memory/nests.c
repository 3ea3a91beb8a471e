/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nests: calls what allocates inside: libc's strdup(), getline(), fopen() …, at sites of its own.
 * What these allocate only counting.so knows (lib/counting.c), preloaded: without it the answer has
 * no figures but those of the first sites.
 */
#define _GNU_SOURCE
#include <dlfcn.h>

#include "heap.h"

#define TIMES 20

static char text[4000];

LEVEL static void in_strdup(void)
{
	given(strdup(text));
}

LEVEL static void in_strndup(void)
{
	given(strndup(text, 50));
}

LEVEL static void in_asprintf(void)
{
	char *out;

	if (asprintf(&out, "%s, %s", text, text) < 0)
		abort();
	given(out);
}

LEVEL static void in_fopen(void)
{
	FILE *file = fopen("/proc/self/exe", "r");
	char *line = NULL;
	size_t room = 0;

	if (!file)
		abort();
	while (getline(&line, &room, file) > 0)
		;
	given(line); /* which is kept */
	fclose(file);
}

LEVEL static void in_memstream(void)
{
	char *out;
	size_t bytes;
	FILE *file = open_memstream(&out, &bytes);

	for (unsigned i = 0; i < 5; i++)
		fputs(text, file);
	fclose(file);
	given(out);
}

LEVEL static void in_realloc(void)
{
	char *memory = realloc(NULL, 10);

	for (size_t bytes = 100; bytes < 200000; bytes *= 10)
		memory = realloc(memory, bytes);
	given(memory);
}

LEVEL static void in_calloc(void)
{
	given(calloc(10, 100));
	given(calloc(1, 300000));
}

static const struct {
	const char *name;
	void (*call)(void);
} kinds[] = {{"in_strdup", in_strdup}, {"in_strndup", in_strndup},     {"in_asprintf", in_asprintf},
	     {"in_fopen", in_fopen},   {"in_memstream", in_memstream}, {"in_realloc", in_realloc},
	     {"in_calloc", in_calloc}};

int main(void)
{
	/* [bytes, objects, held bytes, held objects] so far. */
	void (*counted)(uint64_t figures[4]) = NULL;
	uint64_t before[4] = {0}, now[4] = {0};

	*(void **)&counted = dlsym(RTLD_DEFAULT, "counted");
	memset(text, 'x', sizeof(text) - 1);
	stand_by();
	for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct site *at = site(kinds[i].name);

		if (counted)
			counted(before);
		for (unsigned n = 0; n < TIMES; n++)
			kinds[i].call();
		if (counted)
			counted(now);
		at->bytes = now[0] - before[0];
		at->objects = now[1] - before[1];
		at->held_bytes = now[2] - before[2];
		at->held_objects = now[3] - before[3];
	}
	answer_sites();
	return 0;
}
