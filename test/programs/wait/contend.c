/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * contend [-s] THREADS SECONDS: so many threads run for that long, by the clock on the wall, in
 * contend_run. Before its answer all of them are done and there. With -s it is a session of its
 * own.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "wait.h"

static pthread_barrier_t done;
static uint64_t length_ns;

LEVEL static void contend_run(void)
{
	uint64_t end_ns = monotonic_ns() + length_ns, x = end_ns;

	while (monotonic_ns() < end_ns)
		x = burn_rounds(x, 100003);
}

static void *run(void *arg)
{
	(void)arg;
	contend_run();
	pthread_barrier_wait(&done);
	pause();
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc > 1 && strcmp(argv[1], "-s") == 0) {
		setsid();
		argc--;
		argv++;
	}
	if (argc < 3)
		return 2;
	unsigned count = (unsigned)atoi(argv[1]);
	length_ns = seconds_ns(argv[2]);
	pthread_barrier_init(&done, NULL, count + 1);
	stand_by();
	for (unsigned i = 0; i < count; i++)
		if (pthread_create(&thread, NULL, run, NULL))
			return 1;
	pthread_barrier_wait(&done);
	printf("{\"threads\": %u", count);
	answer_end();
	return 0;
}
