/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * allocations: each function of an allocator at a site of its own (main -> SITE), what a realloc()
 * can do, what fails, what another thread frees, what a thread leaves behind that ends. Then it
 * stands by; let go once more, it ends.
 */
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>

#include "heap.h"

#define KEPT   100
#define FED    200
#define OTHERS 10
#define BIG    (1U << 20)

/* Each of these is a site. */
#define SITE(name, parameters, call)                                                               \
	LEVEL static void *name parameters                                                         \
	{                                                                                          \
		return given(call);                                                                \
	}

SITE(keep_malloc, (size_t bytes), malloc(bytes))
SITE(keep_big, (size_t bytes), malloc(bytes))
SITE(drop_big, (size_t bytes), malloc(bytes))
SITE(churn, (size_t bytes), malloc(bytes))
SITE(feed, (size_t bytes), malloc(bytes))
SITE(too_much, (size_t bytes), malloc(bytes))
SITE(keep_calloc, (size_t count, size_t bytes), calloc(count, bytes))
SITE(keep_aligned_alloc, (size_t alignment, size_t bytes), aligned_alloc(alignment, bytes))
SITE(keep_memalign, (size_t alignment, size_t bytes), memalign(alignment, bytes))
SITE(keep_valloc, (size_t bytes), valloc(bytes))
#ifdef __GLIBC__
SITE(keep_pvalloc, (size_t bytes), pvalloc(bytes))
#endif
SITE(keep_reallocarray, (size_t count, size_t bytes), reallocarray(NULL, count, bytes))
SITE(keep_in_thread, (size_t bytes), malloc(bytes))

SITE(begin_grow, (size_t bytes), malloc(bytes))
SITE(begin_nudge, (size_t bytes), malloc(bytes))
SITE(begin_shrink, (size_t bytes), malloc(bytes))
SITE(begin_zero, (size_t bytes), malloc(bytes))
SITE(begin_fail, (size_t bytes), malloc(bytes))
SITE(begin_array, (size_t bytes), malloc(bytes))
SITE(grow, (void *old, size_t bytes), realloc(old, bytes))
SITE(nudge, (void *old, size_t bytes), realloc(old, bytes))
SITE(shrink, (void *old, size_t bytes), realloc(old, bytes))
SITE(to_zero, (void *old, size_t bytes), realloc(old, bytes))
SITE(fail, (void *old, size_t bytes), realloc(old, bytes))
SITE(grow_array, (void *old, size_t count, size_t bytes), reallocarray(old, count, bytes))
SITE(from_nothing, (void *old, size_t bytes), realloc(old, bytes))

LEVEL static int keep_posix_memalign(void **memory, size_t alignment, size_t bytes)
{
	int error = posix_memalign(memory, alignment, bytes);

	given(*memory);
	return error;
}

static void *fed[FED];
static void *kept[KEPT]; /* so that nothing is lost in a checker's eyes */
static unsigned moved, in_place, zero_is_memory;

static void *eat(void *unused)
{
	for (unsigned i = 0; i < FED; i++)
		free(fed[i]);
	return unused;
}

static void *leave(void *unused)
{
	for (unsigned i = 0; i < 25; i++)
		took("keep_in_thread", 40, keep_in_thread(40));
	return unused;
}

static void in_thread(void *(*run)(void *))
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, NULL) || pthread_join(thread, NULL))
		abort();
}

static void plain(void)
{
	for (unsigned i = 0; i < KEPT; i++)
		kept[i] = took("keep_malloc", 1000, keep_malloc(1000));
	for (unsigned i = 0; i < FED; i++)
		fed[i] = took("feed", 300, feed(300));
	in_thread(eat);
	for (unsigned i = 0; i < FED; i++)
		gave("feed", 300);
	in_thread(leave);
	for (unsigned i = 0; i < 1000; i++) {
		free(took("churn", 64, churn(64)));
		gave("churn", 64);
	}
	for (unsigned i = 0; i < OTHERS; i++) {
		took("keep_big", BIG, keep_big(BIG));
		free(took("drop_big", BIG, drop_big(BIG)));
		gave("drop_big", BIG);
	}
}

static void aligned(void)
{
	for (unsigned i = 0; i < OTHERS; i++) {
		void *memory = NULL;

		took("keep_calloc", 77, keep_calloc(7, 11));
		took("keep_reallocarray", 500, keep_reallocarray(5, 100));
		took("keep_aligned_alloc", 640, keep_aligned_alloc(128, 640));
		took("keep_memalign", 333, keep_memalign(256, 333));
		took("keep_valloc", 700, keep_valloc(700));
#ifdef __GLIBC__
		took("keep_pvalloc", 900, keep_pvalloc(900));
#endif
		if (keep_posix_memalign(&memory, 64, 500))
			abort();
		took("keep_posix_memalign", 500, memory);
	}
}

/* One that was allocated at `begin` is now, by `memory`, of `at`. */
static void became(const char *begin, size_t old_bytes, const char *at, size_t bytes, void *old,
		   void *memory)
{
	took(at, bytes, memory);
	gave(begin, old_bytes);
	*(memory == old ? &in_place : &moved) += 1;
}

static void reallocs(void)
{
	for (unsigned i = 0; i < OTHERS; i++) {
		void *old = took("begin_grow", 100, begin_grow(100));
		became("begin_grow", 100, "grow", 50000, old, grow(old, 50000));
		old = took("begin_nudge", 17, begin_nudge(17));
		became("begin_nudge", 17, "nudge", 24, old, nudge(old, 24));
		old = took("begin_shrink", 5000, begin_shrink(5000));
		became("begin_shrink", 5000, "shrink", 50, old, shrink(old, 50));
		old = took("begin_array", 60, begin_array(60));
		became("begin_array", 60, "grow_array", 7000, old, grow_array(old, 70, 100));
		took("from_nothing", 450, from_nothing(NULL, 450));
		old = took("begin_zero", 70, begin_zero(70));
		if (to_zero(old, unknown(0))) {
			add("to_zero", 0, 1);
			zero_is_memory++;
		}
		gave("begin_zero", 70);
	}
}

static void failures(void)
{
	size_t half = unknown(SIZE_MAX / 2);

	/* The first is told at once; the second the allocator asks the kernel for, in vain. */
	size_t too_large[] = {half, unknown((size_t)1 << 47)};

	add("too_much", 0, 0);
	add("fail", 0, 0);
	for (unsigned i = 0; i < OTHERS; i++) {
		void *old = took("begin_fail", 90, begin_fail(90));
		void *none = NULL;

		if (fail(old, too_large[i & 1]) || too_much(too_large[i & 1]) ||
		    keep_calloc(half, half) || keep_reallocarray(half, half) ||
		    grow_array(old, half, half) || !keep_posix_memalign(&none, unknown(3), 500) ||
		    none)
			abort();
	}
	free(NULL);
}

int main(void)
{
	stand_by();
	plain();
	aligned();
	reallocs();
	failures();
	printf("{\"moved\": %u, \"in_place\": %u, \"zero_is_memory\": %u, ", moved, in_place,
	       zero_is_memory);
	sites_print();
	printf("}\n");
	stand_by();
	return 0;
}
