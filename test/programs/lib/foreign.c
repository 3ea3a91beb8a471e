/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What python/foreign.py and python/liar.py load: threads of C, and memory that lies while C code
 * burns.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "optimized/level.h"

struct calls {
	void (*back)(void);
	uint64_t ns;
};

static pthread_t lone, caller;
static struct calls lone_calls, caller_calls;

static uint64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

LEVEL void lone_burn(uint64_t ns)
{
	burn_ns(ns);
	keep_frame();
}

static void *lone_main(void *arg)
{
	struct calls *calls = arg;

	prctl(PR_SET_NAME, "lone");
	lone_burn(calls->ns);
	return NULL;
}

LEVEL void call_until(const struct calls *calls)
{
	uint64_t end = clock_ns() + calls->ns;

	while (clock_ns() < end)
		calls->back();
}

static void *caller_main(void *arg)
{
	prctl(PR_SET_NAME, "caller");
	call_until(arg);
	return NULL;
}

int start_lone(int ms)
{
	lone_calls = (struct calls){.ns = (uint64_t)ms * 1000000};
	return pthread_create(&lone, NULL, lone_main, &lone_calls);
}

int start_caller(void (*back)(void), int ms)
{
	caller_calls = (struct calls){.back = back, .ns = (uint64_t)ms * 1000000};
	return pthread_create(&caller, NULL, caller_main, &caller_calls);
}

void call_back(void (*back)(void), int ms)
{
	call_until(&(struct calls){.back = back, .ns = (uint64_t)ms * 1000000});
}

void join_both(void)
{
	pthread_join(lone, NULL);
	pthread_join(caller, NULL);
}

/* An address eight bytes before the end of what is mapped. */
uint64_t edge(void)
{
	char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED || munmap(pages + 4096, 4096))
		return 0;
	return (uint64_t)(uintptr_t)(pages + 4096 - 8);
}

#define LIES_MAX 64

/* Writes these words, burns for so long, and puts back what was there. */
LEVEL int lie(uint64_t *const *addresses, const uint64_t *values, int count, int us)
{
	uint64_t were[LIES_MAX];

	if (count > LIES_MAX)
		return -1;
	for (int i = 0; i < count; i++) {
		were[i] = *addresses[i];
		*addresses[i] = values[i];
	}
	__asm__ volatile("" ::: "memory");
	burn_ns((uint64_t)us * 1000);
	__asm__ volatile("" ::: "memory");
	for (int i = count - 1; i >= 0; i--)
		*addresses[i] = were[i];
	return 0;
}
