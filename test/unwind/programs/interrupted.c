/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * interrupted SECONDS: burns, a third of it in a signal handler that interrupts the rest anywhere:
 * in a leaf, in prologues, in the C library.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>

#include "burn.h"

static volatile uint64_t sink;

__attribute__((noinline)) static uint64_t work(uint64_t x)
{
	for (int i = 0; i < 50; i++)
		x = x * UINT64_C(6364136223846793005) + 1;
	return x;
}

__attribute__((noinline)) static uint64_t print(uint64_t x)
{
	char text[64];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)x);
	return work(x) + (uint64_t)text[0];
}

static void on_signal(int number)
{
	for (int i = 0; i < 1000; i++)
		sink += print((uint64_t)number);
}

int main(int argc, char **argv)
{
	uint64_t ns = seconds_ns(argc > 1 ? argv[1] : "1"), x = 1;
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	struct itimerval often = {{0, 1000}, {0, 1000}};

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	while (thread_cpu_ns() < ns)
		for (int i = 0; i < 1000; i++)
			x = print(x);
	sink = x;
	return 0;
}
