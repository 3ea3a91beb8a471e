/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ranges: maps memory in each way that there is, when told to (wait.h), and stops again. Each way
 * keeps a number of pages of its own:
 *
 *	parts	10 pages, of which the 4th and 5th are given back: 8
 *	moved	4 that become 16
 *	shrunk	30 that become 2, where they are
 *	over	20, of which 5 in the middle are mapped over: 15 and 5
 *	small	123 bytes: 1
 *	given	3, mapped by another thread: given back
 *	races	two threads map and give back 1 to 8, 4000 times each; at the end each keeps 9
 *
 * and things that don't count: calls that fail, and malloc() and threads, for which the C library
 * maps memory. Tells how often it mapped, and how many bytes.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/mman.h>

#include "wait.h"

#define PAGE  4096UL
#define RACES 4000

static uint64_t maps, mapped_bytes;

static void count(uint64_t bytes)
{
	__atomic_fetch_add(&maps, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&mapped_bytes, (bytes + PAGE - 1) / PAGE * PAGE, __ATOMIC_RELAXED);
}

LEVEL static char *map(char *at, size_t bytes, int flags)
{
	char *memory =
		mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

	if (memory == MAP_FAILED)
		exit(1);
	count(bytes);
	return memory;
}

static void unmap(char *memory, size_t bytes)
{
	if (munmap(memory, bytes))
		exit(1);
}

static char *remap(char *memory, size_t from, size_t to)
{
	memory = mremap(memory, from, to, MREMAP_MAYMOVE);
	if (memory == MAP_FAILED)
		exit(1);
	count(to);
	return memory;
}

static void keep_some(void)
{
	char *parts = map(NULL, 10 * PAGE, 0), *over = map(NULL, 20 * PAGE, 0);

	unmap(parts + 3 * PAGE, 2 * PAGE);
	map(over + 7 * PAGE, 5 * PAGE, MAP_FIXED);
	remap(map(NULL, 4 * PAGE, 0), 4 * PAGE, 16 * PAGE);
	remap(map(NULL, 30 * PAGE, 0), 30 * PAGE, 2 * PAGE);
	map(NULL, 123, 0);
}

static void fail(void)
{
	char *memory = map(NULL, PAGE, 0);

	if (mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED ||
	    munmap(memory + 1, PAGE) == 0 ||
	    mremap(memory, PAGE, ~0UL << 14, MREMAP_MAYMOVE) != MAP_FAILED)
		exit(1);
	unmap(memory, PAGE);
}

static void *give(void *arg)
{
	*(char **)arg = map(NULL, 3 * PAGE, 0);
	return NULL;
}

static void *race(void *arg)
{
	(void)arg;
	for (size_t i = 0; i < RACES; i++) {
		size_t bytes = (1 + i % 8) * PAGE;

		unmap(map(NULL, bytes, 0), bytes);
	}
	map(NULL, 9 * PAGE, 0);
	return NULL;
}

static void run_threads(void)
{
	pthread_t threads[2], giver;
	char *given;

	if (pthread_create(&giver, NULL, give, &given) || pthread_join(giver, NULL))
		exit(1);
	unmap(given, 3 * PAGE);
	for (int i = 0; i < 2; i++) {
		if (pthread_create(&threads[i], NULL, race, NULL))
			exit(1);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

int main(void)
{
	static char *volatile kept[20];

	stand_by();
	keep_some();
	fail();
	for (int i = 0; i < 20; i++)
		kept[i] = malloc(1 << 20);
	free(kept[7]);
	run_threads();
	printf("{\"maps\": %" PRIu64 ", \"bytes\": %" PRIu64 "}\n", maps, mapped_bytes);
	stand_by();
	return 0;
}
