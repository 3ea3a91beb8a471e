/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * turns THREADS TURNS BURN_US SLEEP_US [END]: each thread burns that much CPU time and then sleeps
 * so long, TURNS times, and ends; the main thread joins them. Prints as JSON, in ns: what they
 * burned and slept by their own clocks, how long the main thread waited for them, and what all
 * waited for a CPU by /proc/thread-self/schedstat. END is what happens instead of the main thread's
 * return: `hold`, it waits to be killed; `leave`, it ends before the others, and nothing is
 * printed; `exec`, another thread runs `turns 1 1 1000 1000`.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "burn.h"

#define THREADS_MAX 1024

static unsigned long turns;
static uint64_t burn_each_ns, sleep_each_ns;

static struct worker {
	pthread_t thread;
	uint64_t burned_ns, slept_ns, delayed_ns;
} workers[THREADS_MAX];

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t delayed_ns(void)
{
	FILE *file = fopen("/proc/thread-self/schedstat", "r");
	uint64_t ran, delayed = 0;

	if (file && fscanf(file, "%" SCNu64 " %" SCNu64, &ran, &delayed) != 2)
		delayed = 0;
	if (file)
		fclose(file);
	return delayed;
}

static void *run(void *arg)
{
	struct worker *worker = arg;
	struct timespec pause = {(time_t)(sleep_each_ns / 1000000000u),
				 (long)(sleep_each_ns % 1000000000u)};

	for (unsigned long i = 0; i < turns; i++) {
		if (burn_each_ns)
			worker->burned_ns += burn_ns(burn_each_ns);
		uint64_t began_ns = now_ns();
		nanosleep(&pause, NULL);
		worker->slept_ns += now_ns() - began_ns;
	}
	worker->delayed_ns = delayed_ns();
	return NULL;
}

static void *exec(void *arg)
{
	execl(arg, arg, "1", "1", "1000", "1000", (char *)NULL);
	return NULL;
}

static void end(const char *how, char *name)
{
	pthread_t thread;

	if (strcmp(how, "exec") == 0 && pthread_create(&thread, NULL, exec, name) == 0)
		pthread_join(thread, NULL);
	pause();
}

int main(int argc, char **argv)
{
	const char *how = argc > 5 ? argv[5] : "";
	unsigned long threads = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
	uint64_t burned_ns = 0, slept_ns = 0, joined_ns = 0, delayed = 0;

	turns = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
	burn_each_ns = argc > 3 ? strtoull(argv[3], NULL, 10) * 1000 : 0;
	sleep_each_ns = argc > 4 ? strtoull(argv[4], NULL, 10) * 1000 : 0;
	for (unsigned long i = 0; i < threads && i < THREADS_MAX; i++) {
		if (pthread_create(&workers[i].thread, NULL, run, &workers[i]))
			return 1;
	}
	if (strcmp(how, "leave") == 0)
		pthread_exit(NULL);
	for (unsigned long i = 0; i < threads && i < THREADS_MAX; i++) {
		uint64_t began_ns = now_ns();
		pthread_join(workers[i].thread, NULL);
		joined_ns += now_ns() - began_ns;
		burned_ns += workers[i].burned_ns;
		slept_ns += workers[i].slept_ns;
		delayed += workers[i].delayed_ns;
	}
	printf("{\"burned_ns\": %" PRIu64 ", \"slept_ns\": %" PRIu64 ", \"joined_ns\": %" PRIu64
	       ", \"delayed_ns\": %" PRIu64 "}\n",
	       burned_ns, slept_ns, joined_ns, delayed + delayed_ns());
	fflush(stdout);
	if (how[0])
		end(how, argv[0]);
	return 0;
}
