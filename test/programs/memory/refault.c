/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * refault SECONDS [DEPTH]: touches fresh pages and gives them back, over and over, from main
 * through DEPTH calls (1). Prints its faults by getrusage() and the time that touching took: a line
 * of JSON.
 */
#include <err.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#include "burn.h"

#define BYTES (1024 * 1024)
#define PAGE  4096

static volatile char *memory;

static uint64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

__attribute__((noinline)) static void touch(long depth)
{
	keep_frame();
	if (depth > 1) {
		touch(depth - 1);
		keep_frame();
		return;
	}
	for (size_t i = 0; i < BYTES; i += PAGE)
		memory[i] = 1;
}

int main(int argc, char **argv)
{
	struct rusage usage;

	if (argc < 2) {
		fprintf(stderr, "usage: refault SECONDS [DEPTH]\n");
		return 2;
	}
	memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		err(1, "mmap");
	madvise((void *)memory, BYTES, MADV_NOHUGEPAGE);
	getrusage(RUSAGE_SELF, &usage);
	long before = usage.ru_minflt;
	uint64_t until = clock_ns() + seconds_ns(argv[1]), touched_ns = 0;
	while (clock_ns() < until) {
		uint64_t start = clock_ns();

		touch(argc > 2 ? atol(argv[2]) : 1);
		touched_ns += clock_ns() - start;
		madvise((void *)memory, BYTES, MADV_DONTNEED);
	}
	getrusage(RUSAGE_SELF, &usage);
	printf("{\"faults\": %ld, \"touched_ns\": %ju}\n", usage.ru_minflt - before,
	       (uintmax_t)touched_ns);
	return 0;
}
