/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Work with a known answer for the test programs: arithmetic that neither calls nor touches memory,
 * measured by the thread's own CPU clock.
 *
 * The clock is read about once a millisecond, because libc's clock_gettime() has no frame pointer:
 * a sample in it would miss its caller.
 */
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#define BURN_INLINE static inline __attribute__((always_inline, unused))

/*
 * gcc gives a leaf function that needs no stack no frame, -mno-omit-leaf-frame-pointer or not, and
 * a sample in it would miss its caller. Asking for the frame's address makes one.
 */
BURN_INLINE void keep_frame(void)
{
#ifndef WITHOUT_FRAME_POINTERS
	__asm__ volatile("" : : "r"(__builtin_frame_address(0)));
#endif
}

/* A step is a multiplication whose result the next one waits for: about 1.5 ns on any alignment. */
BURN_INLINE uint64_t burn_rounds(uint64_t x, uint64_t rounds)
{
	keep_frame();
	for (uint64_t i = 0; i < rounds; i++) {
		x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		__asm__ volatile("" : "+r"(x));
	}
	return x;
}

static inline uint64_t thread_cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Burns that much CPU time in the calling function itself; returns what it took, in ns. */
BURN_INLINE uint64_t burn_ns(uint64_t ns)
{
	uint64_t start = thread_cpu_ns(), now = start;
	uint64_t x = start;

	while (now - start < ns) {
		x = burn_rounds(x, 500009); /* prime: no lock step with a sampling clock */
		now = thread_cpu_ns();
	}
	return now - start;
}

/* An argument in seconds, fractions allowed, as ns. */
static inline uint64_t seconds_ns(const char *text)
{
	return (uint64_t)(strtod(text, NULL) * 1e9);
}
