/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * shifts ROUNDS WORK_MS REST_MS [STANDS_BY]: works and rests in turn, main -> work and main ->
 * rest. The rest is a clock_nanosleep(). Prints its waits by the kernel's count of voluntary
 * switches in rest(), and its time in rest() by CLOCK_MONOTONIC, which has the way into the kernel
 * and back in it. With a fourth argument it stops itself before it begins.
 */
#define _GNU_SOURCE /* RUSAGE_THREAD */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

#include "burn.h"

static uint64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static long voluntary_switches(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw;
}

static void work(uint64_t ns)
{
	burn_ns(ns);
}

static void rest(uint64_t ns)
{
	struct timespec time = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};

	keep_frame();
	clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
	keep_frame();
}

int main(int argc, char **argv)
{
	uint64_t waited_ns = 0;
	long waits = 0;

	if (argc < 4) {
		fprintf(stderr, "usage: shifts ROUNDS WORK_MS REST_MS\n");
		return 2;
	}
	if (argc > 4)
		raise(SIGSTOP);
	for (long i = 0; i < atol(argv[1]); i++) {
		work((uint64_t)atol(argv[2]) * 1000000u);
		long before = voluntary_switches();
		uint64_t began = clock_ns();
		rest((uint64_t)atol(argv[3]) * 1000000u);
		waited_ns += clock_ns() - began;
		waits += voluntary_switches() - before;
	}
	printf("{\"cpu_ns\": %" PRIu64 ", \"waits\": %ld, \"waited_ns\": %" PRIu64 "}\n",
	       thread_cpu_ns(), waits, waited_ns);
	return 0;
}
