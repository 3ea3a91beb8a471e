/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * paced MS MS MS MS: each 103 ms, until it is ended, part_a to part_d burn so many ms of CPU time
 * each. At SIGUSR1 part_b becomes 20 % slower, as a regression would.
 */
#include <signal.h>
#include <stdio.h>

#include "burn.h"

#define ROUND_NS 103000000u /* no lock step with a sampling clock */

static volatile sig_atomic_t is_slower;

static void note_regression(int number)
{
	(void)number;
	is_slower = 1;
}

__attribute__((noinline)) static void part_a(uint64_t ns)
{
	burn_ns(ns);
}

__attribute__((noinline)) static void part_b(uint64_t ns)
{
	burn_ns(ns);
}

__attribute__((noinline)) static void part_c(uint64_t ns)
{
	burn_ns(ns);
}

__attribute__((noinline)) static void part_d(uint64_t ns)
{
	burn_ns(ns);
}

__attribute__((noinline)) static void one_round(const uint64_t ns[4])
{
	part_a(ns[0]);
	part_b(is_slower ? ns[1] + ns[1] / 5 : ns[1]);
	part_c(ns[2]);
	part_d(ns[3]);
}

static void sleep_until(struct timespec *next)
{
	next->tv_nsec += ROUND_NS;
	if (next->tv_nsec >= 1000000000) {
		next->tv_nsec -= 1000000000;
		next->tv_sec++;
	}
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, next, NULL);
}

int main(int argc, char **argv)
{
	struct timespec next;
	uint64_t ns[4];

	if (argc != 5) {
		fprintf(stderr, "usage: paced MS MS MS MS\n");
		return 2;
	}
	for (int i = 0; i < 4; i++)
		ns[i] = seconds_ns(argv[i + 1]) / 1000;
	signal(SIGUSR1, note_regression);
	clock_gettime(CLOCK_MONOTONIC, &next);
	for (;;) {
		one_round(ns);
		sleep_until(&next);
	}
}
