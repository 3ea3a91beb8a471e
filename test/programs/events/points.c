/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * points TICKS NAPS [FOREVER]: stops itself (SIGSTOP), then does what events can be at, each in a
 * function of its own (main -> run_NAME -> event_NAME): event_tick() TICKS times; event_nap() NAPS
 * times, 2 ms each; event_dig(), which calls itself DEPTH - 1 times; static probes of the provider
 * `points`, each TICKS times: `begun`, and `gated`, which has a semaphore and is passed only while
 * that isn't 0. Prints what it did, as JSON: counts, and the time of the naps by its own clock;
 * then it stops itself again. With FOREVER it goes on with event_tick().
 */
#include <inttypes.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "optimized/level.h"

#define DEPTH  20
#define NAP_NS 2000000

#if defined(__aarch64__)
#define CONSTANT ""
#else
#define CONSTANT "$"
#endif

/* A note as SystemTap's sys/sdt.h, version 3, writes it. `...`: operands of the arguments. */
/* clang-format off */
#define STATIC_PROBE(name, semaphore, args, ...) \
	__asm__ volatile("990: nop\n" \
			 ".pushsection .note.stapsdt, \"?\", \"note\"\n" \
			 ".balign 4\n" \
			 ".4byte 992f-991f, 994f-993f, 3\n" \
			 "991: .asciz \"stapsdt\"\n" \
			 "992: .balign 4\n" \
			 "993: .8byte 990b, _.stapsdt.base, " semaphore "\n" \
			 ".asciz \"points\"\n" \
			 ".asciz \"" name "\"\n" \
			 ".asciz \"" args "\"\n" \
			 "994: .balign 4\n" \
			 ".popsection\n" \
			 ".ifndef _.stapsdt.base\n" \
			 ".pushsection .stapsdt.base, \"aG\", \"progbits\", .stapsdt.base, comdat\n" \
			 ".weak _.stapsdt.base\n" \
			 ".hidden _.stapsdt.base\n" \
			 "_.stapsdt.base: .space 1\n" \
			 ".size _.stapsdt.base, 1\n" \
			 ".popsection\n" \
			 ".endif\n" : : __VA_ARGS__)
/* clang-format on */

volatile unsigned short points_gated_semaphore __attribute__((section(".probes"), used));

static uint64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

LEVEL long event_tick(long value)
{
	__asm__ volatile("" : "+r"(value));
	return value;
}

LEVEL void event_nap(void)
{
	clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){.tv_nsec = NAP_NS}, NULL);
}

LEVEL long event_dig(long depth)
{
	__asm__ volatile("" : "+r"(depth));
	return depth > 1 ? event_dig(depth - 1) + 1 : depth;
}

LEVEL static void run_ticks(long count)
{
	for (long i = 0; i < count; i++)
		event_tick(i);
	__asm__ volatile("");
}

LEVEL static uint64_t run_naps(long count)
{
	uint64_t spent = 0;

	for (long i = 0; i < count; i++) {
		uint64_t began = clock_ns();

		event_nap();
		spent += clock_ns() - began;
	}
	return spent;
}

LEVEL static long run_statics(long count)
{
	long passed = 0;
	volatile int field = -2;

	for (long i = 0; i < count; i++) {
		STATIC_PROBE("begun", "0", "-8@%0 8@" CONSTANT "7 -4@%1", "r"(i % 3), "m"(field));
		if (points_gated_semaphore) {
			STATIC_PROBE("gated", "points_gated_semaphore", "", "r"(0L));
			passed++;
		}
	}
	return passed;
}

int main(int argc, char *argv[])
{
	long ticks = argc > 1 ? atol(argv[1]) : 0, naps = argc > 2 ? atol(argv[2]) : 0;

	raise(SIGSTOP);
	run_ticks(ticks);
	uint64_t nap_ns = run_naps(naps);
	long dug = event_dig(DEPTH);
	long gated = run_statics(ticks);
	printf("{\"ticks\": %ld, \"naps\": %ld, \"nap_ns\": %" PRIu64
	       ", \"dug\": %ld, \"begun\": %ld, \"gated\": %ld, \"semaphore\": %d}\n",
	       ticks, naps, nap_ns, dug, ticks, gated, points_gated_semaphore);
	fflush(stdout);
	raise(SIGSTOP);
	while (argc > 3)
		run_ticks(1000000);
	printf("{\"semaphore\": %d}\n", points_gated_semaphore);
	fflush(stdout);
	raise(SIGSTOP);
	return 0;
}
